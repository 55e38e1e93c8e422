// zlib, of which inflate is used.
#ifndef RECBOT_CZLIB_SHIM_H
#define RECBOT_CZLIB_SHIM_H

#include <zlib.h>

#endif
