// The part of libnice and GLib that the Transport target uses. Swift cannot see macros and variadic functions, so each
// one that is needed has a small inline function here.
#ifndef RECBOT_CNICE_SHIM_H
#define RECBOT_CNICE_SHIM_H

#include <glib-object.h>
#include <gio/gio.h>
#include <glib.h>
#include <glib-unix.h>
#include <linux/rtnetlink.h>
#include <nice/agent.h>
#include <stun/usages/ice.h>
#include <linux/filter.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// A source that is dispatched at its moment, which the thread of its context sets, and whenever another thread says so. It does what
// g_source_set_ready_time does, which wakes the thread that it is called on once more, for nothing. Its callback returns G_SOURCE_*.
typedef struct {
  GSource source;
  gint64 due;  // microseconds of g_get_monotonic_time; negative: never
  gint told;   // atomic
} CNiceSource;

static gboolean cnice_source_check(GSource *source) {
  CNiceSource *me = (CNiceSource *)source;
  return g_atomic_int_get(&me->told) || (me->due >= 0 && me->due <= g_source_get_time(source));
}

static gboolean cnice_source_prepare(GSource *source, gint *timeout) {
  CNiceSource *me = (CNiceSource *)source;
  if (cnice_source_check(source)) return TRUE;
  *timeout = me->due < 0 ? -1 : (gint)MIN((me->due - g_source_get_time(source) + 999) / 1000, G_MAXINT);
  return FALSE;
}

static gboolean cnice_source_dispatch(GSource *source, GSourceFunc callback, gpointer data) {
  CNiceSource *me = (CNiceSource *)source;
  g_atomic_int_set(&me->told, 0);
  me->due = -1;
  return callback ? callback(data) : G_SOURCE_REMOVE;
}

static inline GSource *cnice_source_new(void) {
  static GSourceFuncs functions = {cnice_source_prepare, cnice_source_check, cnice_source_dispatch, NULL, NULL, NULL};
  CNiceSource *me = (CNiceSource *)g_source_new(&functions, sizeof(CNiceSource));
  me->due = -1;
  me->told = 0;
  return &me->source;
}

// Sets its moment. Only the thread that iterates its context.
static inline void cnice_source_set_due(GSource *source, gint64 due) { ((CNiceSource *)source)->due = due; }

// Lets it be dispatched as soon as may be. Any thread.
static inline void cnice_source_tell(GSource *source, GMainContext *context) {
  g_atomic_int_set(&((CNiceSource *)source)->told, 1);
  g_main_context_wakeup(context);
}

// g_signal_connect is a macro; the callback's true type depends on the signal.
static inline unsigned long cnice_connect_gathering_done(
    NiceAgent *agent, void (*callback)(NiceAgent *, unsigned int, void *), void *data) {
  return g_signal_connect(agent, "candidate-gathering-done", G_CALLBACK(callback), data);
}

static inline unsigned long cnice_connect_new_candidate(
    NiceAgent *agent, void (*callback)(NiceAgent *, NiceCandidate *, void *), void *data) {
  return g_signal_connect(agent, "new-candidate-full", G_CALLBACK(callback), data);
}

static inline unsigned long cnice_connect_new_remote_candidate(
    NiceAgent *agent, void (*callback)(NiceAgent *, NiceCandidate *, void *), void *data) {
  return g_signal_connect(agent, "new-remote-candidate-full", G_CALLBACK(callback), data);
}

static inline unsigned long cnice_connect_component_state(
    NiceAgent *agent, void (*callback)(NiceAgent *, unsigned int, unsigned int, unsigned int, void *), void *data) {
  return g_signal_connect(agent, "component-state-changed", G_CALLBACK(callback), data);
}

static inline unsigned long cnice_connect_selected_pair(
    NiceAgent *agent,
    void (*callback)(NiceAgent *, unsigned int, unsigned int, NiceCandidate *, NiceCandidate *, void *), void *data) {
  return g_signal_connect(agent, "new-selected-pair-full", G_CALLBACK(callback), data);
}

static inline void cnice_disconnect_all(NiceAgent *agent, void *data) {
  g_signal_handlers_disconnect_by_data(agent, data);
}

static inline void cnice_set_bool(NiceAgent *agent, const char *property, int value) {
  g_object_set(agent, property, (gboolean)value, NULL);
}

static inline void cnice_set_uint(NiceAgent *agent, const char *property, unsigned int value) {
  g_object_set(agent, property, (guint)value, NULL);
}

static inline void cnice_set_string(NiceAgent *agent, const char *property, const char *value) {
  g_object_set(agent, property, value, NULL);
}

static inline const char *cnice_foundation(const NiceCandidate *candidate) { return candidate->foundation; }

// The signal that this process gets when the thread that started it ends (prctl(2)).
static inline void cnice_follow_parent(int signal) { prctl(PR_SET_PDEATHSIG, (unsigned long)signal, 0, 0, 0); }

// When the kernel last gave a datagram of any of the agent's sockets to its reader, in nanoseconds of the wall clock; 0
// when that is not known. The first call switches the stamps on.
static inline int64_t cnice_last_datagram(NiceAgent *agent, unsigned int stream, unsigned int component) {
  int64_t latest = 0;
  GPtrArray *sockets = nice_agent_get_sockets(agent, stream, component);
  if (!sockets) return 0;
  for (guint i = 0; i < sockets->len; i++) {
    struct timespec stamp = {0, 0};
    if (ioctl(g_socket_get_fd((GSocket *)g_ptr_array_index(sockets, i)), SIOCGSTAMPNS, &stamp) != 0) continue;
    int64_t value = (int64_t)stamp.tv_sec * 1000000000 + stamp.tv_nsec;
    if (value > latest) latest = value;
  }
  g_ptr_array_unref(sockets);
  return latest;
}

// Room for the bursts of several key frames, as far as the system lets us (net.core.rmem_max, wmem_max).
static inline void cnice_widen_buffers(NiceAgent *agent, unsigned int stream, unsigned int component, int bytes) {
  GPtrArray *sockets = nice_agent_get_sockets(agent, stream, component);
  if (!sockets) return;
  for (guint i = 0; i < sockets->len; i++) {
    GSocket *s = (GSocket *)g_ptr_array_index(sockets, i);
    g_socket_set_option(s, SOL_SOCKET, SO_RCVBUF, bytes, NULL);
    g_socket_set_option(s, SOL_SOCKET, SO_SNDBUF, bytes, NULL);
  }
  g_ptr_array_unref(sockets);
}

// Lets the kernel drop what comes in on any of the agent's sockets, by a filter that takes no byte; or ends that.
static inline void cnice_set_deaf(NiceAgent *agent, unsigned int stream, unsigned int component, int deaf) {
  struct sock_filter none = {BPF_RET | BPF_K, 0, 0, 0};
  struct sock_fprog program = {1, &none};
  GPtrArray *sockets = nice_agent_get_sockets(agent, stream, component);
  if (!sockets) return;
  for (guint i = 0; i < sockets->len; i++) {
    int descriptor = g_socket_get_fd((GSocket *)g_ptr_array_index(sockets, i));
    if (deaf) {
      (void)setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
    } else {
      int unused = 0;
      (void)setsockopt(descriptor, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof(unused));
    }
  }
  g_ptr_array_unref(sockets);
}

// Lets the kernel drop STUN that libnice must not see. Always: errors in answer to our checks but 487, the only one that
// ICE needs; libnice (0.1.21) takes 300, 400, 401 and 438 for true without an integrity and gives the pair up, where RFC
// 8489 section 9.1.4 has them discarded. With `only_known`: Binding requests from an address that is none of the peer's
// candidates known now. The filter sees a datagram from its UDP header on.
static inline void cnice_filter_stun(NiceAgent *agent, unsigned int stream, unsigned int component, int only_known) {
  enum { most = 1024, largest = 11, take = -1 };
  struct sock_filter code[most];
  GPtrArray *sockets = nice_agent_get_sockets(agent, stream, component);
  GSList *list = nice_agent_get_remote_candidates(agent, stream, component);
  for (guint i = 0; sockets && i < sockets->len; i++) {
    GSocket *s = (GSocket *)g_ptr_array_index(sockets, i);
    if (g_socket_get_protocol(s) != G_SOCKET_PROTOCOL_UDP) continue;
    int is6 = g_socket_get_family(s) == G_SOCKET_FAMILY_IPV6;
    unsigned short n = 0;
    // A Binding error response: its first attribute, or the second (behind SOFTWARE), must be ERROR-CODE 487.
    static const struct sock_filter errors[] = {
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 8), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x0111, 0, 14),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 28), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x0009, 5, 0),
        // The length of the first with its header, in whole words.
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 30), BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 7),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xfffc), BPF_STMT(BPF_MISC | BPF_TAX, 0),
        BPF_STMT(BPF_JMP | BPF_JA, 1), BPF_STMT(BPF_LDX | BPF_W | BPF_IMM, 0),
        BPF_STMT(BPF_LD | BPF_H | BPF_IND, 28), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x0009, 0, 3),
        BPF_STMT(BPF_LD | BPF_H | BPF_IND, 34), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 4 << 8 | 87, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, (uint32_t)take), BPF_STMT(BPF_RET | BPF_K, 0)};
    memcpy(code, errors, sizeof errors);
    n = sizeof errors / sizeof errors[0];
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x0001, 1, 0);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, (uint32_t)take);
    if (!only_known) code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, (uint32_t)take);
    for (GSList *entry = list; entry && n + largest < most; entry = entry->next) {
      const NiceAddress *address = &((NiceCandidate *)entry->data)->addr;
      if ((address->s.addr.sa_family == AF_INET6) != is6) continue;
      const uint8_t *bytes = is6 ? address->s.ip6.sin6_addr.s6_addr : (const uint8_t *)&address->s.ip4.sin_addr.s_addr;
      unsigned char words = is6 ? 4 : 1;
      code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 0);
      code[n++] = (struct sock_filter)BPF_JUMP(
          BPF_JMP | BPF_JEQ | BPF_K, nice_address_get_port(address), 0, (unsigned char)(2 * words + 1));
      for (unsigned char word = 0; word < words; word++) {
        uint32_t value = (uint32_t)bytes[4 * word] << 24 | (uint32_t)bytes[4 * word + 1] << 16 |
                         (uint32_t)bytes[4 * word + 2] << 8 | bytes[4 * word + 3];
        code[n++] = (struct sock_filter)BPF_STMT(
            BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_NET_OFF + (is6 ? 8 : 12) + 4 * word));
        code[n++] = (struct sock_filter)BPF_JUMP(
            BPF_JMP | BPF_JEQ | BPF_K, value, 0, (unsigned char)(2 * (words - word) - 1));
      }
      code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, (uint32_t)take);
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
    struct sock_fprog program = {n, code};
    (void)setsockopt(g_socket_get_fd(s), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
  }
  g_slist_free_full(list, (GDestroyNotify)nice_candidate_free);
  if (sockets) g_ptr_array_unref(sockets);
}

// True when a check came from this address before the peer has told it: libnice made a peer-reflexive candidate of it.
static inline int cnice_is_peer_reflexive(NiceAgent *agent, unsigned int stream, const NiceAddress *address) {
  int found = 0;
  GSList *list = nice_agent_get_remote_candidates(agent, stream, 1);
  for (GSList *entry = list; entry; entry = entry->next) {
    NiceCandidate *known = entry->data;
    found |= known->type == NICE_CANDIDATE_TYPE_PEER_REFLEXIVE && nice_address_equal(&known->addr, address);
  }
  g_slist_free_full(list, (GDestroyNotify)nice_candidate_free);
  return found;
}

// Takes over one candidate of the peer (libnice copies it).
static inline int cnice_add_remote(
    NiceAgent *agent, unsigned int stream, NiceCandidateType type, const char *foundation, unsigned int priority,
    const char *address, unsigned int port) {
  int added = -1;
  NiceCandidate *candidate = nice_candidate_new(type);
  candidate->stream_id = stream;
  candidate->component_id = 1;
  candidate->transport = NICE_CANDIDATE_TRANSPORT_UDP;
  candidate->priority = priority;
  g_strlcpy(candidate->foundation, foundation, NICE_CANDIDATE_MAX_FOUNDATION);
  if (nice_address_set_from_string(&candidate->addr, address)) {
    nice_address_set_port(&candidate->addr, port);
    GSList list = {candidate, NULL};
    int is_late = cnice_is_peer_reflexive(agent, stream, &candidate->addr);
    added = nice_agent_set_remote_candidates(agent, stream, 1, &list);
    if (is_late && added >= 0) {
      // libnice (0.1.21) only renames it then, and never pairs it with our other addresses (RFC 8838 section 10 wants
      // that): when the check came to an address that leads nowhere, no pair would ever work. Under another type it
      // takes the candidate for a new one.
      candidate->type =
          type == NICE_CANDIDATE_TYPE_HOST ? NICE_CANDIDATE_TYPE_SERVER_REFLEXIVE : NICE_CANDIDATE_TYPE_HOST;
      added = nice_agent_set_remote_candidates(agent, stream, 1, &list);
    }
  }
  nice_candidate_free(candidate);
  return added;
}

// A Binding request over the selected pair (RFC 8445 section 7.2.2, without USE-CANDIDATE), beside the agent's own
// checks: its answer shows up in cnice_last_datagram. False when it did not leave.
static inline int cnice_probe(
    NiceAgent *agent, unsigned int stream, unsigned int component, const char *username, const char *password,
    uint64_t tie) {
  static const uint16_t known[] = {0};
  StunAgent stun;
  StunMessage message;
  uint8_t buffer[512];
  gboolean controlling = FALSE;
  g_object_get(agent, "controlling-mode", &controlling, NULL);
  stun_agent_init(
      &stun, known, STUN_COMPATIBILITY_RFC5389,
      STUN_AGENT_USAGE_SHORT_TERM_CREDENTIALS | STUN_AGENT_USAGE_USE_FINGERPRINT);
  // The priority of a peer-reflexive host candidate: the pair exists, so it decides nothing.
  size_t length = stun_usage_ice_conncheck_create(
      &stun, &message, buffer, sizeof buffer, (const uint8_t *)username, strlen(username), (const uint8_t *)password,
      strlen(password), 0, controlling, 1853817087u, tie, NULL, STUN_USAGE_ICE_COMPATIBILITY_RFC5245);
  return length > 0 && nice_agent_send(agent, stream, component, (guint)length, (const gchar *)buffer) == (gint)length;
}

// A check of libnice's (a Binding request) as it is, but for its PRIORITY: the peer gives that priority to the way on which
// the check arrives (RFC 8445 section 7.3.1.3). `transaction` and all other attributes stay, so that libnice knows the
// answer. Returns the length; 0 for anything else than a check, or when there is no room.
static inline size_t cnice_ranked(
    const uint8_t *check, size_t length, const char *password, uint32_t priority, uint8_t *out, size_t room) {
  static const uint16_t known[] = {0};
  if (length < 20 || check[0] != 0 || check[1] != 1 || (size_t)(check[2] << 8 | check[3]) != length - 20) return 0;
  StunAgent stun;
  StunMessage message;
  stun_agent_init(
      &stun, known, STUN_COMPATIBILITY_RFC5389,
      STUN_AGENT_USAGE_SHORT_TERM_CREDENTIALS | STUN_AGENT_USAGE_USE_FINGERPRINT);
  if (!stun_agent_init_request(&stun, &message, out, room, STUN_BINDING)) return 0;
  memcpy(out + 4, check + 4, 16);
  for (size_t at = 20; at + 4 <= length;) {
    uint16_t type = (uint16_t)(check[at] << 8 | check[at + 1]), count = (uint16_t)(check[at + 2] << 8 | check[at + 3]);
    if (count > length - at - 4) return 0;
    StunMessageReturn added = STUN_MESSAGE_RETURN_SUCCESS;
    if (type == STUN_ATTRIBUTE_PRIORITY) {
      added = stun_message_append32(&message, STUN_ATTRIBUTE_PRIORITY, priority);
    } else if (type != STUN_ATTRIBUTE_MESSAGE_INTEGRITY && type != STUN_ATTRIBUTE_FINGERPRINT) {
      added = stun_message_append_bytes(&message, (StunAttribute)type, check + at + 4, count);
    }
    if (added != STUN_MESSAGE_RETURN_SUCCESS) return 0;
    at += 4 + ((size_t)count + 3) / 4 * 4;
  }
  return stun_agent_finish_message(&stun, &message, (const uint8_t *)password, strlen(password));
}

// The relay of the selected pair; false when it has none. The candidates that signals hand out don't know theirs.
static inline int cnice_selected_relay(NiceAgent *agent, unsigned int stream, unsigned int component, NiceAddress *relay) {
  NiceCandidate *local = NULL, *remote = NULL;
  if (!nice_agent_get_selected_pair(agent, stream, component, &local, &remote)) return 0;
  if (local->type != NICE_CANDIDATE_TYPE_RELAYED) return 0;
  nice_candidate_relay_address(local, relay);
  return 1;
}

static inline int cnice_add_local_address(NiceAgent *agent, const char *text) {
  NiceAddress address;
  nice_address_init(&address);
  if (!nice_address_set_from_string(&address, text)) return 0;
  return nice_agent_add_local_address(agent, &address);
}

// A socket that does not block and that `exec` closes; -1 when the system has none.
static inline int cnice_socket(int family, int is_stream) {
  return socket(family, (is_stream ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

// glibc shows it to those only who want all that is GNU's, which Swift's own view of glibc does not.
extern int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);

// The next connection, one that does not block and that `exec` closes; -1 when there is none.
static inline int cnice_accept(int fd) { return accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC); }

// True when one of the agent's sockets is bound to the port.
static inline int cnice_has_port(NiceAgent *agent, unsigned int stream, unsigned int component, uint16_t port) {
  int found = 0;
  GPtrArray *sockets = nice_agent_get_sockets(agent, stream, component);
  if (!sockets) return 0;
  for (guint i = 0; i < sockets->len; i++) {
    struct sockaddr_storage bound;
    socklen_t length = sizeof bound;
    if (getsockname(g_socket_get_fd((GSocket *)g_ptr_array_index(sockets, i)), (struct sockaddr *)&bound, &length) != 0)
      continue;
    // The port stands at the same place in both families.
    found |= ntohs(((struct sockaddr_in *)&bound)->sin_port) == port;
  }
  g_ptr_array_unref(sockets);
  return found;
}

// A socket on which the kernel tells of changed links, addresses and routes (rtnetlink(7)); -1 when it can't be had.
static inline int cnice_netlink_open(void) {
  int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
  if (fd < 0) return -1;
  struct sockaddr_nl address = {0};
  address.nl_family = AF_NETLINK;
  address.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE;
  if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

static inline GSource *cnice_descriptor_source_new(int fd, int is_output) {
  return g_unix_fd_source_new(fd, is_output ? G_IO_OUT : G_IO_IN);
}

static inline void cnice_set_descriptor_callback(
    GSource *source, gboolean (*callback)(gint, GIOCondition, gpointer), gpointer data) {
  g_source_set_callback(source, (GSourceFunc)(void (*)(void))callback, data, NULL);
}

static inline void cnice_unref(NiceAgent *agent) { g_object_unref(agent); }

static inline void cnice_unref_source(GObject *source) { g_object_unref(source); }

#endif
