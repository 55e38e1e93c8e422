// The part of OpenSSL's libcrypto that the Digests target uses.
#ifndef RECBOT_CCRYPTO_SHIM_H
#define RECBOT_CCRYPTO_SHIM_H

#include <openssl/crypto.h>
#include <openssl/evp.h>

#endif
