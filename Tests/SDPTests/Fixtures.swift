/// Offers of real stacks, as they came over the wire.
enum Fixtures {
  /// libwebrtc (PyPI livekit 1.2.0), joining with one peer connection; one section of each kind.
  static let libwebrtcOffer = #"""
    v=0
    o=- 680752260797852239 2 IN IP4 127.0.0.1
    s=-
    t=0 0
    a=group:BUNDLE 0 3 6
    a=extmap-allow-mixed
    a=msid-semantic: WMS
    m=audio 9 UDP/TLS/RTP/SAVPF 111 63 9 0 8 13 110 126
    c=IN IP4 0.0.0.0
    a=rtcp:9 IN IP4 0.0.0.0
    a=ice-ufrag:44OC
    a=ice-pwd:tDRdtWMbgbZ0270iMN7/QXpS
    a=ice-options:trickle goog-sped-v1
    a=fingerprint:sha-256 AB:DC:85:16:4D:C4:D1:24:AD:78:F7:37:C3:98:F3:E9:E4:0E:BC:BF:95:ED:CD:97:CD:58:E2:D2:FA:5A:29:B9
    a=setup:actpass
    a=mid:0
    a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level
    a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
    a=extmap:3 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
    a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid
    a=recvonly
    a=rtcp-mux
    a=rtcp-rsize
    a=rtpmap:111 opus/48000/2
    a=rtcp-fb:111 transport-cc
    a=fmtp:111 minptime=10;useinbandfec=1
    a=rtpmap:63 red/48000/2
    a=fmtp:63 111/111
    a=rtpmap:9 G722/8000
    a=rtpmap:0 PCMU/8000
    a=rtpmap:8 PCMA/8000
    a=rtpmap:13 CN/8000
    a=rtpmap:110 telephone-event/48000
    a=rtpmap:126 telephone-event/8000
    m=video 9 UDP/TLS/RTP/SAVPF 96 97 103 104 107 108 109 114 115 116 117 118 39 40 45 46 98 99 100 101 119 120 121
    c=IN IP4 0.0.0.0
    a=rtcp:9 IN IP4 0.0.0.0
    a=ice-ufrag:44OC
    a=ice-pwd:tDRdtWMbgbZ0270iMN7/QXpS
    a=ice-options:trickle goog-sped-v1
    a=fingerprint:sha-256 AB:DC:85:16:4D:C4:D1:24:AD:78:F7:37:C3:98:F3:E9:E4:0E:BC:BF:95:ED:CD:97:CD:58:E2:D2:FA:5A:29:B9
    a=setup:actpass
    a=mid:3
    a=extmap:14 urn:ietf:params:rtp-hdrext:toffset
    a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
    a=extmap:13 urn:3gpp:video-orientation
    a=extmap:3 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
    a=extmap:5 http://www.webrtc.org/experiments/rtp-hdrext/playout-delay
    a=extmap:6 http://www.webrtc.org/experiments/rtp-hdrext/video-content-type
    a=extmap:7 http://www.webrtc.org/experiments/rtp-hdrext/video-timing
    a=extmap:8 http://www.webrtc.org/experiments/rtp-hdrext/color-space
    a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid
    a=extmap:10 urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id
    a=extmap:11 urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id
    a=recvonly
    a=rtcp-mux
    a=rtcp-rsize
    a=rtpmap:96 VP8/90000
    a=rtcp-fb:96 goog-remb
    a=rtcp-fb:96 transport-cc
    a=rtcp-fb:96 ccm fir
    a=rtcp-fb:96 nack
    a=rtcp-fb:96 nack pli
    a=rtpmap:97 rtx/90000
    a=fmtp:97 apt=96
    a=rtpmap:103 H264/90000
    a=rtcp-fb:103 goog-remb
    a=rtcp-fb:103 transport-cc
    a=rtcp-fb:103 ccm fir
    a=rtcp-fb:103 nack
    a=rtcp-fb:103 nack pli
    a=fmtp:103 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42001f
    a=rtpmap:104 rtx/90000
    a=fmtp:104 apt=103
    a=rtpmap:107 H264/90000
    a=rtcp-fb:107 goog-remb
    a=rtcp-fb:107 transport-cc
    a=rtcp-fb:107 ccm fir
    a=rtcp-fb:107 nack
    a=rtcp-fb:107 nack pli
    a=fmtp:107 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=42001f
    a=rtpmap:108 rtx/90000
    a=fmtp:108 apt=107
    a=rtpmap:109 H264/90000
    a=rtcp-fb:109 goog-remb
    a=rtcp-fb:109 transport-cc
    a=rtcp-fb:109 ccm fir
    a=rtcp-fb:109 nack
    a=rtcp-fb:109 nack pli
    a=fmtp:109 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f
    a=rtpmap:114 rtx/90000
    a=fmtp:114 apt=109
    a=rtpmap:115 H264/90000
    a=rtcp-fb:115 goog-remb
    a=rtcp-fb:115 transport-cc
    a=rtcp-fb:115 ccm fir
    a=rtcp-fb:115 nack
    a=rtcp-fb:115 nack pli
    a=fmtp:115 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=42e01f
    a=rtpmap:116 rtx/90000
    a=fmtp:116 apt=115
    a=rtpmap:117 H264/90000
    a=rtcp-fb:117 goog-remb
    a=rtcp-fb:117 transport-cc
    a=rtcp-fb:117 ccm fir
    a=rtcp-fb:117 nack
    a=rtcp-fb:117 nack pli
    a=fmtp:117 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=4d001f
    a=rtpmap:118 rtx/90000
    a=fmtp:118 apt=117
    a=rtpmap:39 H264/90000
    a=rtcp-fb:39 goog-remb
    a=rtcp-fb:39 transport-cc
    a=rtcp-fb:39 ccm fir
    a=rtcp-fb:39 nack
    a=rtcp-fb:39 nack pli
    a=fmtp:39 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=4d001f
    a=rtpmap:40 rtx/90000
    a=fmtp:40 apt=39
    a=rtpmap:45 AV1/90000
    a=rtcp-fb:45 goog-remb
    a=rtcp-fb:45 transport-cc
    a=rtcp-fb:45 ccm fir
    a=rtcp-fb:45 nack
    a=rtcp-fb:45 nack pli
    a=fmtp:45 level-idx=5;profile=0;tier=0
    a=rtpmap:46 rtx/90000
    a=fmtp:46 apt=45
    a=rtpmap:98 VP9/90000
    a=rtcp-fb:98 goog-remb
    a=rtcp-fb:98 transport-cc
    a=rtcp-fb:98 ccm fir
    a=rtcp-fb:98 nack
    a=rtcp-fb:98 nack pli
    a=fmtp:98 profile-id=0
    a=rtpmap:99 rtx/90000
    a=fmtp:99 apt=98
    a=rtpmap:100 VP9/90000
    a=rtcp-fb:100 goog-remb
    a=rtcp-fb:100 transport-cc
    a=rtcp-fb:100 ccm fir
    a=rtcp-fb:100 nack
    a=rtcp-fb:100 nack pli
    a=fmtp:100 profile-id=2
    a=rtpmap:101 rtx/90000
    a=fmtp:101 apt=100
    a=rtpmap:119 red/90000
    a=rtpmap:120 rtx/90000
    a=fmtp:120 apt=119
    a=rtpmap:121 ulpfec/90000
    m=application 9 UDP/DTLS/SCTP webrtc-datachannel
    c=IN IP4 0.0.0.0
    a=ice-ufrag:44OC
    a=ice-pwd:tDRdtWMbgbZ0270iMN7/QXpS
    a=ice-options:trickle goog-sped-v1
    a=fingerprint:sha-256 AB:DC:85:16:4D:C4:D1:24:AD:78:F7:37:C3:98:F3:E9:E4:0E:BC:BF:95:ED:CD:97:CD:58:E2:D2:FA:5A:29:B9
    a=setup:actpass
    a=mid:6
    a=sctp-port:5000
    a=max-message-size:262144
    a=sctp-init:AQAAHqZUcjcAUAAA/////6kb1JjAAAAEgAgABoLA
    """#

  /// aiortc 1.16, both kinds of media and a data channel; addresses replaced.
  static let aiortcOffer = #"""
    v=0
    o=- 4004232020 4004232020 IN IP4 0.0.0.0
    s=-
    t=0 0
    a=group:BUNDLE 0 1 2
    a=msid-semantic:WMS *
    m=audio 46897 UDP/TLS/RTP/SAVPF 96 9 0 8
    c=IN IP4 192.0.2.2
    a=sendrecv
    a=extmap:1 urn:ietf:params:rtp-hdrext:sdes:mid
    a=extmap:2 urn:ietf:params:rtp-hdrext:ssrc-audio-level
    a=mid:0
    a=msid:2bfd708a-dbc7-446d-bd4b-e6b026eb4da0 8fd6406f-2452-4cea-9ab1-efb5699c8ef9
    a=rtcp:9 IN IP4 0.0.0.0
    a=rtcp-mux
    a=ssrc:4131852278 cname:92ccbafe-16fa-47f0-b34d-9475b6667a9c
    a=rtpmap:96 opus/48000/2
    a=rtpmap:9 G722/8000
    a=rtpmap:0 PCMU/8000
    a=rtpmap:8 PCMA/8000
    a=candidate:f957a2332b1715da3b0ef8ba684454eb 1 udp 2130706431 192.0.2.2 46897 typ host
    a=candidate:d0bcf3d9c29a2bc887618212a1623bfa 1 udp 2130706431 fd00::2 40872 typ host
    a=end-of-candidates
    a=ice-ufrag:gczx
    a=ice-pwd:T8HJTAjRVSU3VLaaxHJO3t
    a=fingerprint:sha-256 0C:23:B5:20:BC:38:AB:91:A8:8E:7D:26:D6:4F:17:5F:0C:E0:89:68:D5:84:C9:16:BF:01:2D:E1:D2:3A:5C:64
    a=fingerprint:sha-384 5F:D2:FF:7B:2C:F6:72:E8:68:E6:FF:94:CA:D0:D4:7A:33:14:27:36:67:BD:49:C7:74:C9:70:48:33:A4:8E:20:1D:31:03:FD:36:DA:48:68:B2:DC:EA:7B:F3:52:70:D1
    a=fingerprint:sha-512 9F:69:1E:D8:7F:D0:7E:6F:FF:4B:3A:3B:2D:F0:0D:CA:60:D3:1F:13:B5:99:86:54:BE:CF:04:0C:99:30:DF:9A:6F:4A:B8:85:82:C2:07:9A:6D:D1:A8:23:63:A2:BA:51:95:77:7D:DE:DF:F2:BB:14:D5:FE:AA:BA:E2:82:3E:7E
    a=setup:actpass
    m=video 60186 UDP/TLS/RTP/SAVPF 97 98 99 100 101 102
    c=IN IP4 192.0.2.2
    a=sendrecv
    a=extmap:1 urn:ietf:params:rtp-hdrext:sdes:mid
    a=extmap:3 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
    a=mid:1
    a=msid:2bfd708a-dbc7-446d-bd4b-e6b026eb4da0 5b2562ed-929c-46a8-a87c-b1229a7872b9
    a=rtcp:9 IN IP4 0.0.0.0
    a=rtcp-mux
    a=ssrc-group:FID 438144825 202837835
    a=ssrc:438144825 cname:92ccbafe-16fa-47f0-b34d-9475b6667a9c
    a=ssrc:202837835 cname:92ccbafe-16fa-47f0-b34d-9475b6667a9c
    a=rtpmap:97 VP8/90000
    a=rtcp-fb:97 nack
    a=rtcp-fb:97 nack pli
    a=rtcp-fb:97 goog-remb
    a=rtpmap:98 rtx/90000
    a=fmtp:98 apt=97
    a=rtpmap:99 H264/90000
    a=rtcp-fb:99 nack
    a=rtcp-fb:99 nack pli
    a=rtcp-fb:99 goog-remb
    a=fmtp:99 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42001f
    a=rtpmap:100 rtx/90000
    a=fmtp:100 apt=99
    a=rtpmap:101 H264/90000
    a=rtcp-fb:101 nack
    a=rtcp-fb:101 nack pli
    a=rtcp-fb:101 goog-remb
    a=fmtp:101 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f
    a=rtpmap:102 rtx/90000
    a=fmtp:102 apt=101
    a=candidate:f957a2332b1715da3b0ef8ba684454eb 1 udp 2130706431 192.0.2.2 60186 typ host
    a=candidate:d0bcf3d9c29a2bc887618212a1623bfa 1 udp 2130706431 fd00::2 60333 typ host
    a=end-of-candidates
    a=ice-ufrag:gczx
    a=ice-pwd:T8HJTAjRVSU3VLaaxHJO3t
    a=fingerprint:sha-256 0C:23:B5:20:BC:38:AB:91:A8:8E:7D:26:D6:4F:17:5F:0C:E0:89:68:D5:84:C9:16:BF:01:2D:E1:D2:3A:5C:64
    a=fingerprint:sha-384 5F:D2:FF:7B:2C:F6:72:E8:68:E6:FF:94:CA:D0:D4:7A:33:14:27:36:67:BD:49:C7:74:C9:70:48:33:A4:8E:20:1D:31:03:FD:36:DA:48:68:B2:DC:EA:7B:F3:52:70:D1
    a=fingerprint:sha-512 9F:69:1E:D8:7F:D0:7E:6F:FF:4B:3A:3B:2D:F0:0D:CA:60:D3:1F:13:B5:99:86:54:BE:CF:04:0C:99:30:DF:9A:6F:4A:B8:85:82:C2:07:9A:6D:D1:A8:23:63:A2:BA:51:95:77:7D:DE:DF:F2:BB:14:D5:FE:AA:BA:E2:82:3E:7E
    a=setup:actpass
    m=application 54944 UDP/DTLS/SCTP webrtc-datachannel
    c=IN IP4 192.0.2.2
    a=mid:2
    a=sctp-port:5000
    a=max-message-size:262144
    a=candidate:f957a2332b1715da3b0ef8ba684454eb 1 udp 2130706431 192.0.2.2 54944 typ host
    a=candidate:d0bcf3d9c29a2bc887618212a1623bfa 1 udp 2130706431 fd00::2 40585 typ host
    a=end-of-candidates
    a=ice-ufrag:gczx
    a=ice-pwd:T8HJTAjRVSU3VLaaxHJO3t
    a=fingerprint:sha-256 0C:23:B5:20:BC:38:AB:91:A8:8E:7D:26:D6:4F:17:5F:0C:E0:89:68:D5:84:C9:16:BF:01:2D:E1:D2:3A:5C:64
    a=fingerprint:sha-384 5F:D2:FF:7B:2C:F6:72:E8:68:E6:FF:94:CA:D0:D4:7A:33:14:27:36:67:BD:49:C7:74:C9:70:48:33:A4:8E:20:1D:31:03:FD:36:DA:48:68:B2:DC:EA:7B:F3:52:70:D1
    a=fingerprint:sha-512 9F:69:1E:D8:7F:D0:7E:6F:FF:4B:3A:3B:2D:F0:0D:CA:60:D3:1F:13:B5:99:86:54:BE:CF:04:0C:99:30:DF:9A:6F:4A:B8:85:82:C2:07:9A:6D:D1:A8:23:63:A2:BA:51:95:77:7D:DE:DF:F2:BB:14:D5:FE:AA:BA:E2:82:3E:7E
    a=setup:actpass
    """#

  /// What a LiveKit server offers to a subscriber: ICE-lite, no mid extension, sections re-used.
  static let liveKitSubscriberOffer = #"""
    v=0
    o=- 4611731400430051336 1760000000 IN IP4 0.0.0.0
    s=-
    t=0 0
    a=msid-semantic:WMS *
    a=fingerprint:sha-256 0F:74:31:25:CB:A2:13:EC:28:6F:6D:2C:61:FF:5D:C2:BC:B9:DB:3D:98:14:8D:1A:BB:EA:33:0C:A4:60:A8:8E
    a=ice-lite
    a=extmap-allow-mixed
    a=group:BUNDLE 0 1 2
    m=application 9 UDP/DTLS/SCTP webrtc-datachannel
    c=IN IP4 0.0.0.0
    a=setup:actpass
    a=mid:0
    a=sendrecv
    a=sctp-port:5000
    a=max-message-size:65535
    a=ice-ufrag:ufragOne
    a=ice-pwd:passwordpasswordpasswordOne
    m=audio 9 UDP/TLS/RTP/SAVPF 63 111
    c=IN IP4 0.0.0.0
    a=setup:actpass
    a=mid:1
    a=ice-ufrag:ufragOne
    a=ice-pwd:passwordpasswordpasswordOne
    a=rtcp-mux
    a=rtcp-rsize
    a=rtpmap:63 red/48000/2
    a=fmtp:63 111/111
    a=rtpmap:111 opus/48000/2
    a=fmtp:111 minptime=10;useinbandfec=1
    a=rtcp-fb:111 nack 
    a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-capture-time
    a=ssrc:2001 cname:PA_alice|TR_audio
    a=ssrc:2001 msid:PA_alice|TR_audio TR_audio
    a=msid:PA_alice|TR_audio TR_audio
    a=sendonly
    m=video 9 UDP/TLS/RTP/SAVPF 96 97 98 99 125 126 35 36
    c=IN IP4 0.0.0.0
    a=setup:actpass
    a=mid:2
    a=ice-ufrag:ufragOne
    a=ice-pwd:passwordpasswordpasswordOne
    a=rtcp-mux
    a=rtcp-rsize
    a=rtpmap:96 VP8/90000
    a=rtcp-fb:96 goog-remb 
    a=rtcp-fb:96 ccm fir
    a=rtcp-fb:96 nack 
    a=rtcp-fb:96 nack pli
    a=rtpmap:97 rtx/90000
    a=fmtp:97 apt=96
    a=rtpmap:98 VP9/90000
    a=fmtp:98 profile-id=0
    a=rtpmap:99 rtx/90000
    a=fmtp:99 apt=98
    a=rtpmap:125 H264/90000
    a=fmtp:125 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=42e01f
    a=rtpmap:126 rtx/90000
    a=fmtp:126 apt=125
    a=rtpmap:35 AV1/90000
    a=rtpmap:36 rtx/90000
    a=fmtp:36 apt=35
    a=extmap:1 https://aomediacodec.github.io/av1-rtp-spec/#dependency-descriptor-rtp-header-extension
    a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-capture-time
    a=extmap:3 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time
    a=ssrc-group:FID 3001 3002
    a=ssrc:3001 cname:PA_alice|TR_video
    a=ssrc:3001 msid:PA_alice|TR_video TR_video
    a=ssrc:3002 cname:PA_alice|TR_video
    a=msid:PA_alice|TR_video TR_video
    a=sendonly
    """#
}
