// The part of OpenSSL that the Transport target uses. Swift cannot see macros, so each one that is needed has a small
// inline function here.
#ifndef RECBOT_COPENSSL_SHIM_H
#define RECBOT_COPENSSL_SHIM_H

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/srtp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <sys/time.h>

static inline int copenssl_require_dtls12(SSL_CTX *context) {
  return SSL_CTX_set_min_proto_version(context, DTLS1_2_VERSION);
}

static inline int copenssl_require_tls12(SSL_CTX *context) {
  return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
}

// The name, or the numeric address, that the server's certificate must be for; a name is told to the server too.
static inline int copenssl_expect_host(SSL *ssl, const char *host, int is_address) {
  if (is_address) return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host);
  SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return SSL_set_tlsext_host_name(ssl, host) == 1 && SSL_set1_host(ssl, host) == 1;
}

static inline uint64_t copenssl_set_options(SSL_CTX *context) {
  return SSL_CTX_set_options(
      context, SSL_OP_NO_QUERY_MTU | SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
}

static inline int copenssl_set_groups(SSL_CTX *context, const char *groups) {
  return (int)SSL_CTX_set1_groups_list(context, groups);
}

static inline void copenssl_set_read_ahead(SSL_CTX *context) { SSL_CTX_set_read_ahead(context, 1); }

static inline void copenssl_set_link_mtu(SSL *ssl, int mtu) { DTLS_set_link_mtu(ssl, mtu); }

// Nanoseconds until the DTLS retransmission timer fires; -1 when it is not running.
static inline int64_t copenssl_timeout(SSL *ssl) {
  struct timeval left;
  if (DTLSv1_get_timeout(ssl, &left) != 1) return -1;
  return (int64_t)left.tv_sec * 1000000000 + (int64_t)left.tv_usec * 1000;
}

// 1 when an error has ended the handshake for good: nothing but making another SSL helps then. OpenSSL shows that state
// by its name only.
static inline int copenssl_has_failed(SSL *ssl) { return strcmp(SSL_state_string(ssl), "SSLERR") == 0; }

static inline int copenssl_handle_timeout(SSL *ssl) { return (int)DTLSv1_handle_timeout(ssl); }

static inline void copenssl_set_retry_read(BIO *bio) { BIO_set_retry_read(bio); }

static inline void copenssl_clear_retry(BIO *bio) { BIO_clear_retry_flags(bio); }

static inline EVP_PKEY *copenssl_make_p256_key(void) { return EVP_EC_gen("P-256"); }

// The name of the digest's algorithm for an SDP hash function (RFC 8122 section 5), or NULL.
static inline const EVP_MD *copenssl_digest(const char *name) { return EVP_get_digestbyname(name); }

#endif
