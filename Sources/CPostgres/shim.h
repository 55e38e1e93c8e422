// PostgreSQL's client library. Debian keeps the header in a folder that pkg-config names.
#pragma once
#include <libpq-fe.h>
