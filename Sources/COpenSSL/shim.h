// The part of OpenSSL that the targets TLS and Transport use. Swift cannot see macros, so each one that is needed has a small
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
#include <time.h>

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

// What is wrong with the certificates of a server: X509_V_ERR_…; whether the time of the one that it is wrong with is over, or has
// not begun, and its edges in seconds since 1970. All zero: nothing.
typedef struct {
  int error;
  int is_over;
  int is_early;
  int64_t from;
  int64_t until;
} copenssl_verdict;

static inline int64_t copenssl_seconds(const ASN1_TIME *time) {
  struct tm parts;
  return time && ASN1_TIME_to_tm(time, &parts) == 1 ? (int64_t)timegm(&parts) : 0;
}

static inline int copenssl_note_verdict(int is_good, X509_STORE_CTX *store) {
  if (is_good) return 1;
  SSL *ssl = (SSL *)X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
  copenssl_verdict *verdict = ssl ? (copenssl_verdict *)SSL_get_ex_data(ssl, 0) : NULL;
  X509 *certificate = X509_STORE_CTX_get_current_cert(store);
  if (verdict && verdict->error == 0) {
    verdict->error = X509_STORE_CTX_get_error(store);
    if (certificate) {
      const ASN1_TIME *from = X509_get0_notBefore(certificate), *until = X509_get0_notAfter(certificate);
      verdict->from = copenssl_seconds(from);
      verdict->until = copenssl_seconds(until);
      verdict->is_early = X509_cmp_current_time(from) > 0;
      verdict->is_over = X509_cmp_current_time(until) < 0;
    }
  }
  return 0;
}

// The server's certificates are verified; what is found is noted. `verdict` must outlive `ssl`.
static inline void copenssl_verify_server(SSL *ssl, copenssl_verdict *verdict) {
  SSL_set_ex_data(ssl, 0, verdict);
  SSL_set_verify(ssl, SSL_VERIFY_PEER, copenssl_note_verdict);
}

static inline int copenssl_is_mismatch(int error) {
  return error == X509_V_ERR_HOSTNAME_MISMATCH || error == X509_V_ERR_IP_ADDRESS_MISMATCH;
}

static inline int copenssl_reason(unsigned long error) { return ERR_GET_REASON(error); }

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
