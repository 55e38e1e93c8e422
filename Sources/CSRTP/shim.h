// The part of libsrtp2 that the Transport target uses. The policies are set up here because they hold a pointer to the
// key only while the session is being made.
#ifndef RECBOT_CSRTP_SHIM_H
#define RECBOT_CSRTP_SHIM_H

#include <arpa/inet.h>
#include <srtp2/srtp.h>
#include <string.h>

// Fills a policy for one direction; `gcm` is 0 (AES-CM with SHA-1), 128 or 256.
static inline void csrtp_fill(srtp_policy_t *policy, int gcm, unsigned char *key, srtp_ssrc_type_t type, uint32_t ssrc) {
  memset(policy, 0, sizeof *policy);
  if (gcm == 256) {
    srtp_crypto_policy_set_aes_gcm_256_16_auth(&policy->rtp);
    srtp_crypto_policy_set_aes_gcm_256_16_auth(&policy->rtcp);
  } else if (gcm == 128) {
    srtp_crypto_policy_set_aes_gcm_128_16_auth(&policy->rtp);
    srtp_crypto_policy_set_aes_gcm_128_16_auth(&policy->rtcp);
  } else {
    srtp_crypto_policy_set_rtp_default(&policy->rtp);
    srtp_crypto_policy_set_rtcp_default(&policy->rtcp);
  }
  policy->ssrc.type = type;
  policy->ssrc.value = ssrc;
  policy->key = key;
  policy->window_size = 1024;
  policy->allow_repeat_tx = 1;
}

static inline srtp_err_status_t csrtp_create(srtp_t *session, int gcm, unsigned char *key, int outbound) {
  srtp_policy_t policy;
  csrtp_fill(&policy, gcm, key, outbound ? ssrc_any_outbound : ssrc_any_inbound, 0);
  return srtp_create(session, &policy);
}

// Adds a receiving stream whose rollover counter is not zero.
static inline srtp_err_status_t csrtp_add(srtp_t session, int gcm, unsigned char *key, uint32_t ssrc, uint32_t roc) {
  srtp_policy_t policy;
  csrtp_fill(&policy, gcm, key, ssrc_specific, ssrc);
  srtp_err_status_t status = srtp_add_stream(session, &policy);
  return status == srtp_err_status_ok ? srtp_set_stream_roc(session, ssrc, roc) : status;
}

static inline srtp_err_status_t csrtp_remove(srtp_t session, uint32_t ssrc) {
  return srtp_remove_stream(session, htonl(ssrc));
}

#endif
