// The part of usrsctp that the Transport target uses. Swift cannot see macros and variadic functions, so what needs
// them has a small inline function here. Every call must come from the one SCTP thread.
#ifndef RECBOT_CUSRSCTP_SHIM_H
#define RECBOT_CUSRSCTP_SHIM_H

#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <usrsctp.h>

typedef int (*cusrsctp_output)(void *handle, void *bytes, size_t length, uint8_t tos, uint8_t set_df);
typedef int (*cusrsctp_receive)(
    struct socket *socket, union sctp_sockstore address, void *bytes, size_t length, struct sctp_rcvinfo info,
    int flags, void *handle);

// No thread of the library's own, and no debug printer: it stays silent.
static inline void cusrsctp_init(cusrsctp_output output) {
  usrsctp_init_nothreads(0, output, NULL);
  usrsctp_sysctl_set_sctp_ecn_enable(0);
  usrsctp_sysctl_set_sctp_asconf_enable(0);
  usrsctp_sysctl_set_sctp_auth_enable(0);
  usrsctp_sysctl_set_sctp_blackhole(2);
  // Milliseconds. The defaults are made for servers: 3 s before the first retransmission, 1 s at least, 60 s at most.
  usrsctp_sysctl_set_sctp_rto_initial_default(500);
  usrsctp_sysctl_set_sctp_rto_min_default(200);
  usrsctp_sysctl_set_sctp_rto_max_default(5000);
  usrsctp_sysctl_set_sctp_init_rto_max_default(3000);
  usrsctp_sysctl_set_sctp_delayed_sack_time_default(20);
  // Retransmissions before the association is given up: the transport gives up first.
  usrsctp_sysctl_set_sctp_init_rtx_max_default(30);
  usrsctp_sysctl_set_sctp_assoc_rtx_max_default(30);
  usrsctp_sysctl_set_sctp_path_rtx_max_default(30);
}

static inline int cusrsctp_option(struct socket *socket, int name, const void *value, socklen_t size) {
  return usrsctp_setsockopt(socket, IPPROTO_SCTP, name, value, size);
}

// A socket whose packets carry `handle` as their address; NULL with errno on failure.
static inline struct socket *cusrsctp_open(uintptr_t handle, cusrsctp_receive receive, int buffer_size) {
  struct socket *s = usrsctp_socket(AF_CONN, SOCK_STREAM, IPPROTO_SCTP, receive, NULL, 0, (void *)handle);
  if (!s) return NULL;
  usrsctp_set_non_blocking(s, 1);
  struct linger linger = {1, 0};  // closing aborts at once
  usrsctp_setsockopt(s, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
  usrsctp_setsockopt(s, SOL_SOCKET, SO_SNDBUF, &buffer_size, sizeof buffer_size);
  usrsctp_setsockopt(s, SOL_SOCKET, SO_RCVBUF, &buffer_size, sizeof buffer_size);
  struct sctp_assoc_value reset = {SCTP_ALL_ASSOC, SCTP_ENABLE_RESET_STREAM_REQ | SCTP_ENABLE_CHANGE_ASSOC_REQ};
  cusrsctp_option(s, SCTP_ENABLE_STREAM_RESET, &reset, sizeof reset);
  uint32_t on = 1;
  cusrsctp_option(s, SCTP_NODELAY, &on, sizeof on);
  struct sctp_initmsg init = {.sinit_num_ostreams = 1024, .sinit_max_instreams = 65535};
  cusrsctp_option(s, SCTP_INITMSG, &init, sizeof init);
  static const uint16_t events[] = {SCTP_ASSOC_CHANGE, SCTP_STREAM_RESET_EVENT};
  for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
    struct sctp_event event = {.se_assoc_id = SCTP_ALL_ASSOC, .se_type = events[i], .se_on = 1};
    cusrsctp_option(s, SCTP_EVENT, &event, sizeof event);
  }
  return s;
}

static inline struct sockaddr_conn cusrsctp_address(uintptr_t handle, uint16_t port) {
  struct sockaddr_conn address;
  memset(&address, 0, sizeof address);
  address.sconn_family = AF_CONN;
  address.sconn_port = htons(port);
  address.sconn_addr = (void *)handle;
  return address;
}

// Binds and connects; the INIT leaves during the call. 0 or errno.
static inline int cusrsctp_connect(
    struct socket *socket, uintptr_t handle, uint16_t local_port, uint16_t remote_port, uint32_t mtu) {
  struct sockaddr_conn local = cusrsctp_address(handle, local_port);
  if (usrsctp_bind(socket, (struct sockaddr *)&local, sizeof local) < 0) return errno;
  struct sockaddr_conn remote = cusrsctp_address(handle, remote_port);
  if (usrsctp_connect(socket, (struct sockaddr *)&remote, sizeof remote) < 0 && errno != EINPROGRESS) return errno;
  struct sctp_paddrparams path;
  memset(&path, 0, sizeof path);
  memcpy(&path.spp_address, &remote, sizeof remote);
  path.spp_flags = SPP_PMTUD_DISABLE;
  path.spp_pathmtu = mtu;
  cusrsctp_option(socket, SCTP_PEER_ADDR_PARAMS, &path, sizeof path);
  return 0;
}

// Sends one message; `retransmits` below 0 means reliable. 0 or errno (EWOULDBLOCK: try again later).
static inline int cusrsctp_send(
    struct socket *socket, uint16_t stream, uint32_t ppid, int ordered, int retransmits, const void *bytes,
    size_t length) {
  struct sctp_sendv_spa spa;
  memset(&spa, 0, sizeof spa);
  spa.sendv_flags = SCTP_SEND_SNDINFO_VALID;
  spa.sendv_sndinfo.snd_sid = stream;
  spa.sendv_sndinfo.snd_ppid = htonl(ppid);
  spa.sendv_sndinfo.snd_flags = SCTP_EOR | (ordered ? 0 : SCTP_UNORDERED);
  if (retransmits >= 0) {
    spa.sendv_flags |= SCTP_SEND_PRINFO_VALID;
    spa.sendv_prinfo.pr_policy = SCTP_PR_SCTP_RTX;
    spa.sendv_prinfo.pr_value = (uint32_t)retransmits;
  }
  ssize_t sent = usrsctp_sendv(socket, bytes, length, NULL, 0, &spa, sizeof spa, SCTP_SENDV_SPA, 0);
  return sent < 0 ? errno : 0;
}

// Asks for an outgoing stream reset (RFC 6525). 0 or errno.
static inline int cusrsctp_reset(struct socket *socket, uint16_t stream) {
  char storage[sizeof(struct sctp_reset_streams) + sizeof(uint16_t)];
  struct sctp_reset_streams *reset = (struct sctp_reset_streams *)storage;
  memset(storage, 0, sizeof storage);
  reset->srs_assoc_id = SCTP_ALL_ASSOC;
  reset->srs_flags = SCTP_STREAM_RESET_OUTGOING;
  reset->srs_number_streams = 1;
  memcpy(storage + sizeof(struct sctp_reset_streams), &stream, sizeof stream);
  return cusrsctp_option(socket, SCTP_RESET_STREAMS, reset, sizeof storage) < 0 ? errno : 0;
}

static inline uint32_t cusrsctp_ppid(struct sctp_rcvinfo info) { return ntohl(info.rcv_ppid); }

// What an association-change notification says: one of SCTP_COMM_UP and so on; 0 for any other notification.
static inline uint16_t cusrsctp_association_state(const void *bytes, size_t length) {
  struct sctp_assoc_change change;
  if (length < sizeof change) return 0;
  memcpy(&change, bytes, sizeof change);
  return change.sac_type == SCTP_ASSOC_CHANGE ? change.sac_state : 0;
}

// The number of streams in a stream-reset notification of incoming streams; -1 for any other notification.
static inline int cusrsctp_reset_count(const void *bytes, size_t length) {
  struct sctp_stream_reset_event event;
  if (length < sizeof event) return -1;
  memcpy(&event, bytes, sizeof event);
  if (event.strreset_type != SCTP_STREAM_RESET_EVENT) return -1;
  if (!(event.strreset_flags & SCTP_STREAM_RESET_INCOMING_SSN)) return -1;
  if (event.strreset_flags & (SCTP_STREAM_RESET_DENIED | SCTP_STREAM_RESET_FAILED)) return -1;
  size_t end = event.strreset_length < length ? event.strreset_length : length;
  return end < sizeof event ? 0 : (int)((end - sizeof event) / sizeof(uint16_t));
}

static inline uint16_t cusrsctp_reset_stream(const void *bytes, int index) {
  uint16_t stream;
  memcpy(&stream, (const char *)bytes + sizeof(struct sctp_stream_reset_event) + 2 * (size_t)index, sizeof stream);
  return stream;
}

#endif
