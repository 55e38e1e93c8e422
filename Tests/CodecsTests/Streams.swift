import Foundation
import MediaCore

/// The first pictures of ffmpeg's `testsrc`, 64x48, a keyframe and two that follow, as encoders of other makers write them.
enum Streams {
  /// libx264, baseline, with parameter sets before the keyframe.
  static let h264: [[UInt8]] = decode([
    """
    AAAAAWdCwAraEewEQAAAAwBAAAAPA8SJqAAAAAFozgMcgAAAAAFliIQ6DGAD1DKzFYcCS73dfBIWz+ECQtn8Ku/1wBKMRIwDcOYgC2fwvDhE+C
    AAJhu+CSZx604AelNwYzl3UChpKlJAYywADQAAgH/B3//8ODAGhgAFwEAZGd//Owf9+//v8DDiMHAANAACB1xAEAAQN4MAAePDGABabQjEFbUF
    A/X34CNRM6tf4EDEZj1/1f9cA78mZEOq94qOZMgDcObwiTAAEAYIAAiFUAQCGRx6/gBmHGkUK79dB/CWA4AJSGTIFkr0G9vR9IABO1z/hwATtc
    hwATtc/NTPZM/oScBwATGKmeBT80h+ZjyCDNc/DkGa5hyDNc+SFsAB9+xdwQRFlCffQAzqpghJmtfOQQRrn7UDEugTEZWNm8OEwlwfMVoj8CZy
    Mx6CYCAUIAJQ4cC4ZSHQCMrQYMKCP9AqAykD8BykpCgwhNDnxTf/qCzgBsgpQHpY481+DFS1Uv8PMUsPMUvw3AAEAGGhgPAdgBWkDsArSVBHnB
    VA6MHcAKUjwJkiML8dD0LOAHrSQAAgAeAOabVdXFmoB0hyjxs6grOX4hAAEAxA4ABWgOYAO0hyAGZVCGkY4Q2gsAbSFAG0hqDo1YVGF3AARhP2
    px1LitJNdvADU/0xScd9/yiUsS+wxDJs949m5ZW5fgWABDBARBtQH4HKTqBQl80oU/HAAmQgYfj0ZDfFwWw=
    """,
    """
    AAAAAUGaID68bV3FbgDGv9If/HQAxr/SH/x13xb626//ldwGLcC4IZ6vb3/90BhqAcuAf6hTmAI77f3sgH/8PUH1BivDNvtEB/lHhzkRhG7W8/
    /Zgw8R/Pfj/+GsAMX77O3xXYBHusbfgAx+6dZ/v+N36uluP/fYGfgDDu6HxKv4vAqinXpd/95+QpAATDabBcH8tlrP+2P/H2/nDkGBUbXa+P8K
    YKPmv3Ev3vF4ve5rFuLZLFuLffBPBZogIlY9+we/YPfvf43AGl62Bff4XKAulHuxtg3PKeo2LMp/P5Lj9Ns4FHVP7Alb+D/g55EdIGZYqICRrt
    xfqQghrKVmcc3D5ceN4k98T4n3HUr2QZfd0dvdw7f+I8XhzYdGUZtd1/7zmpRnxK6Qw5fG/l/jeLYPB/EAsF4VlwKLeeZ4D3pbm4e84r/obxWN
    pLksa98TQe5OS5jT426xi4CdSkzDfO54y89iAMJavqn/7uAFFulJt/XDIaYjsQ6ybWGzKAGUdWv//pgNIa93QPzELdrepxeOKA==
    """,
    """
    AAAAAUGaQD6819T8Vve9/CnFxfHKWOeL5s97/BJZr3+N4rFeN0kS4c035PRv6M//BHJiWMdg
    """,
  ])
  /// libvpx, profile 0.
  static let vp9: [[UInt8]] = decode([
    """
    gkmDQgAD8AL2JDgkHBkiAAIwX1/r8Eep6RY7L//x/fs/J8330/qvGem9NgjlIeo66oAu8AB+D3ATWP8YgsCWn9G4hGz2TKfZAHLgPGgzAOLVO/
    KY7STqYmDcDWBXVu22X6G+QRhOC/cub6aLhk3tv104VDBx3JVZK7c4QYVBj8B2IzbaiiZOTDAo/itpZpaJ/e4RLPGKnbKfp88CjXATJONsDVfr
    55cUdo4hKZDDBqRFU5gH+8T6z+vWuxBxlL9MCuaJ6LxYWnlcAFooqPA4dWriJHjF5mfFppGp+ESdxGLLS/TcCf0BZmDBiHaQ++Pw22yAMcxsnz
    gJaQuHRIZhBMj/JUWu/K3+S9ntyZSzSZJ8HYU2FGRfR0Kt0pBK5pyHr0AH4W2FBFsanuDY9zNCJkEUjUofFBYepekwQMkB45cXEqB/GSO+ZJ49
    M6PsTylDBHZh+PWE+mKeiRwRilQYqKd7JQucJNE5m3tuZTEWjsTzaFX/s3eTnv2AASZUWCeM+Tp1t19QAXNpjTCWxRX4i9sxq42vjUyjHcxv5T
    LLlX6LyUBSwFnWh0cMp1+9phRKrN0301jt3OnHhynuRmeKT+OJG10idjowccfSBwFHIKRzr7hQCxvVffJb/MmHj8XI45jpMRVEzGidCG5m/1gE
    ru7H+wziQLJwRKKM9sdhys664q0Ae0jLKK50kGR7VO+FMi8f6lcAwd+UmWGzbroLKAA=
    """,
    """
    hgBAkhz8W4AAA3AAAGuu
    """,
    """
    hgBAkhz8WoAAA3AAAHvA/jHZyAA=
    """,
  ])
  /// libaom, main profile.
  static let av1: [[UInt8]] = decode([
    """
    EgAKCgAAAAKv95tfIAgymwUQALcAOOOOJBBA3StX/XNtdqEmn9aV59yEV2eiWOup+aUQ4ZjiP7QSSi6Q4bzoI2ld9ykvKDjeZnK0eyh/xYmgmD
    pc6Ip9FKLild7g43qv4X+EJKHx2l2/inLYXxAz6bNHeyADDQxNh2L3GwQte321UDQYkiUbqiETFRtkRmQo9Vf7hzNnsnqwGH+NPXEtNBUAv7tV
    yIuhcTcXwy4LeI7ixx8pv5vzALMszVpkoOH+vB0SEGcVN9V9jIk245pNCgThyvv9hudp94lvXQ61sRLo2jCyi1DzYi5VTbtQfwILbug1aBhv+q
    narYmPkZQKhzuzKpE2rpdR/XlEgnHwi0oLjiP2QPNsYR+FVkbx0GCuEOly/P6cEtuIKHMeclHY6K2KtN7BfFuTYxX7g/+grDWLz6fk0NgMpEij
    ZOAeCBCtGV9dumQ2zsTlaTotyjUTQG5z51eyHt16dbqnaB7u8AZ4r1bwLsdom8g3GO6NAmEo2WJ7qw49TBTYG2y4uiq5AxvADES4zePAcXL5Fe
    SKDrBviCma4cjfWrtRmJQoKBO9L/jB3SApTHMgoqaRjCH7hnIQIIjEopbpniP5DQPC6To8TBfCoOO38EcreVL2IVRiT6eBiWLUbbzhVH3uMD+Y
    fgeP1M/RynRuDthHsyPdRZTbzYWF7V8yiF9XqD7x5gMLS0Y568OVIWR8egH2eZteHCXH+o1NupdK1vZX6h3MTLlkYtD5LXCdsr4n2U2WOREXHs
    +GB4ydEitqVEishGev7WHjimwOSooD3kxK1Zu2mQEvjBehMY+VQ+y1INCIWpb2Z1ze0Hbdu+BJUhzxCrpqv6aZy9bcAeJ394FZkmU5ZcDCJkzs
    QwWttx2mtyNgJlCSQH5sKvGkKkplQssu
    """,
    """
    EgAyEjADgID9+AbuAW222ixE0gCXhA==
    """,
    """
    EgAyEzAEAQV9+AbuAW222ixE0gDOFeU=
    """,
  ])

  private static func decode(_ frames: [String]) -> [[UInt8]] {
    frames.map { Array(Data(base64Encoded: $0.replacingOccurrences(of: "\n", with: "")) ?? Data()) }
  }
}
