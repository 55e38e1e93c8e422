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
  /// libx265, main, with parameter sets before the keyframe.
  static let h265: [[UInt8]] = decode([
    """
    AAAAAUABDAH//wFgAAADAJAAAAMAAAMAHroCQAAAAAFCAQEBYAAAAwCQAAADAAADAB6gIIMWW6W8LmgIAAADAAgAAAMA8EAAAAABRAHAcYMSAAABKA
    GsZYmQHCAin5bpl/Eg/vfgmXxM7P2t2DHt/QWUkrWXDV8vpZEXnngjZUkQZhv3WtQGhO3wPj6C0gc7VFGrAv/XnHRFmKoHw26IeUDdXtoOECP/aBvB
    O/+9PC/5bS3oBgJ/4LGNjloEouejX9s5rSHvoaJ2LrL0EGTVoF57aIPfJiyJv5PbQWmJdIROv35j0+Xuhwy1P+fhBcy694qwasytUSQmAmGQU1lcEz
    sbp3iGF9sUWO3Sq094t6EDWpxf1FQq2y8fMhFqHUVkHp1qXuhHXpZnGMcy6UwOjEJFcrmlsp3sjfyaan25O8wXes8wfQkkFECVIwuOqqLs4srf4mm5
    qtYxM0zW08Zbjj9m1//ufTTnfjEzFwQoOOuKeUETJseVQYjm2Qkomfn5X58PftPqJCrfOaI5iEObeQo9SBhKOqHAANym1JLCzcCsbODv8AAX7w2sFF
    7VzP2CDPorZDy0OPirPnx8nXgv4Uc1/xC4LJ2X3jS4IEei/0zBTyiKTmphfJd7GTILVoQSHTThANKiXcKrX+KyTcoBKUhrPvM5eUhuxcuXcBmcOq3u
    NxjUV1jXD38FvRqH63CT6UExyc4SwMGjli39mWwCJo8SnOBRuP8QQvdZuesIQ/s/iD2P/+hfPEdDuAo3rRwmCqJXvIQt0X9AhWPQQ6mQxfQmwPyBal
    Q95ZAr6YCUGs5u+YAwQobdywvzqreKKraTYmx1Gll5wcO/UUugTzrSQqi5opj65s0yED8rxsUXLfg7gtTit0gxLH98VYps4EElcun4OD+7SnbBZTYi
    KA/eGrJUBgSH2rIuIQgbcl1aW+EmrK+6TQ21uUzSSM2pPEjURHMbvfNFqRqmz42+UZQRYo+JzOoi9uZ9kzRSQvqeq+Rz6VlDtAp4z7GeYEGvsZMVDg
    ie2AzW3qSyp7KCiTAZEuNemL6aZMDZWhF6jcrCAC5xYTjXSG9NO0c4UDpUOWD0taelNh/ilLiIaSGybm4=
    """,
    """
    AAAAAQIB0Al4guxMdUM07THqn/cKg077VDh1znXRg4jNiEuR9hmWzk95FqIotstsDk5b8BzfXzj7Pa2beb2ByINRYW/8qmzkKJhZemT5c/VCjcLOOX
    1Fc+wztBPq91i50fV8/SYD33/a6+ZXHNIByAZP+/FRrBInKR/7+5JDaNAACyDvgAE0UgDcH95R6XJI7qP8iz8nGt+EAzzND6eLM21JV9vOX0oVjscl
    dz/KS8NRJ/qqVDk/JkCck3QGPF6Hpi2fT/UqDcf8T3EbecbWHowokDRGcBCbC+mxtEbxvC55i17N6qMmyF9GpvEvg/5ROBjZDSxB/jvW7MkKb+9v9k
    wNIYneQa4sQt03C2hVi2FwZHbzGVzwCVJ4FHxtLDEDLCG2lx/daOTTrddwPTr6WJxM7NKVpUiBlzV6wxslEpt27Z5d5mqlkgIaToQD31Rtb1HbVweo
    wB01ZvwHqssiNGZjMV401aolu5gHD+TipsVRXPG9Eoir53ibhXALOizIXsfAtVhtdDDmRWj+V+rM0xSQeTBjBwa9TVgy+Rfdt9Fq52gvvPX/SmZ7TC
    jQKQCznjAZ4ITXhDY1xn2LLYotXefudD6Vm3u48JonvylhOZPYxYAepqyGU8n8D6sUprk2kzb+3m6oq63nW56MXLDT+X1DUThjP/0vWXTStMPatHLA
    tNRLFw9j6Qci4nc9RiqAA9quQ1VEDuWiVa770AvJdazrjuYTAEOud5myG7fCOyt4PX6jD3tmVlPzHYfLJQf/09lOwnUe92/ZOk2InEuooXPpY9Jsfh
    iCO4erZ4Cw4v2dho7+H8s4NHhwXzDq4uOL6zwYsYkDLzSY+AgL78cWYWiSMpPiBXiozjwUy2qvQuwAniBKRtnc9BxbfSAmWKy1WIdp9SBKauC/HX/J
    EjUWA8k66DIUOwbDHN1+T/IUY0eo9QySONLqa1dJ55Ple6+3m98AukmhBvoyFGu9GO1eXUl+wG2ePOLo2yhjLgQJVOomy8OjPyhH/kZDqbWYopiMR3
    NULuxb
    """,
    """
    AAAAAQIB0BH+ILNL2HIZMMXyIK87SwgrxtYX119cSJ0p6fyKmBVRRjX7Z4XQ7zVam27N1SvgakhICEbqg+CohsKach/5hYem9tU/4o9G7PtAps7HGm
    usgA==
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

  /// A keyframe of 66x34, all of RGB (32, 192, 32), in other colours than limited-range BT.601 (and AV1 in those), as the
  /// streams say themselves. libx264, libx265, libvpx, libaom.
  static let coloured: [(codec: Codec, colours: String, frame: [UInt8])] = [
    (
      .h264, "bt709 full",
      decode([
        """
        AAAAAWdCwArZBX4iIwFuBAQCgAAAAwCAAAADAQeJEyQAAAABaMuDyyAAAAABZYiEBHxmKAAI1UcAATuYkAAUbV4ti3kWRZFkWK6Zfl0upaWlpZomjg
        A0tLS0uA==
        """
      ])[0]
    ),
    (
      .h264, "bt709 limited",
      decode([
        """
        AAAAAWdCwArZBX4iIwFqBAQCgAAAAwCAAAADAQeJEyQAAAABaMuDyyAAAAABZYiEBXxGKAAJA0cAAVOY4AAscycnJyddddddddddeA==
        """
      ])[0]
    ),
    (
      .h265, "bt709 full",
      decode([
        """
        AAAAAUABDAH//wFgAAADAJAAAAMAAAMAHpKAkAAAAAFCAQEBYAAAAwCQAAADAAADAB6gJIKckmWSrkyvAW4EBAIIAAADAAgAAAMACEAAAAABRAHBc9
        GJAAABKAGvE0Wc9S+uoZBff9yr6Ivorocr8XBUIUDxvzPM1YJi52U/E/aA
        """
      ])[0]
    ),
    (
      .h265, "bt2020 limited",
      decode([
        """
        AAAAAUABDAH//wFgAAADAJAAAAMAAAMAHpKAkAAAAAFCAQEBYAAAAwCQAAADAAADAB6gJIKckmWSrkyvAWoEBBIIAAADAAgAAAMACEAAAAABRAHBc9
        GJAAABKAGvE0WM9SSi/21H/346v93zP3FVbtHQ8wtA4KyR1mrs
        """
      ])[0]
    ),
    (
      .vp9, "bt709 limited",
      decode([
        """
        gkmDQkAEEAIWADgkHBhKAAAwYAAAE7//18oAAj////6SwP////9pcwSwAA==
        """
      ])[0]
    ),
    (
      .vp9, "bt601 full",
      decode([
        """
        gkmDQnAEEAIWADgkHBhKAAAwYAAAE7gYAAj////6GtP////9tIAlgA==
        """
      ])[0]
    ),
    (
      .av1, "bt709 full",
      decode([
        """
        EgAKDQAAAAMsGE2vkQICAYQyFRAAoAAAAUAAQAHEy821tGCFnqzQUA==
        """
      ])[0]
    ),
    (
      .av1, "bt601 limited",
      decode([
        """
        EgAKDQAAAAMsGE2vkQICBgQyFBAAoAAAAUAAQAHF3DovBF2du7ZA
        """
      ])[0]
    ),
  ]
  /// A keyframe each in a form that is not shown.
  static let others: [(codec: Codec, form: String, frame: [UInt8])] = [
    (
      .h265, "10 bits 4:2:0",
      decode([
        """
        AAAAAUABDAH//wIgAAADAJAAAAMAAAMAHroCQAAAAAFCAQECIAAAAwCQAAADAAADAB6gIIMTZbpbwuaAgAAAAwCAAAAPBAAAAAFEAcBxgxIAAAEoAa
        wVWeedgEMrrjOzCqEUxPk0lO/zqwq6ovfv1XHybkbcZ6juwFjWN+STgfTg/BsrlR1kOqO7yPnVE7t95REevnfz3YgYOCUNddvh+Q5OoGIH/MqXMxwy
        ih4/UBq2hKi0raNgY9z40joF20BxS7XXOuHgi43ARdmHiNju2nxWd/oMZ89k8geZ+HmFyYiaad7yKxighH3h/teWLclAJ0yBrpgJXFaQEwMZnaXTzG
        u0AINClSLELAG0PAUaEkIsy6KSYPeJUE/6/3GgtegD9HnUzpsO
        """
      ])[0]
    ),
    (
      .h264, "10 bits 4:2:0",
      decode([
        """
        AAAAAWduAAqmy0I9CAAAAwAIAAADAeR4kTUAAAABaM4BhyAAAAEGBf//QtxF6b3m2Ui3lizYINkj7u94MjY0IC0gY29yZSAxNjUgLSBILjI2NC9NUE
        VHLTQgQVZDIGNvZGVjIC0gQ29weWxlZnQgMjAwMy0yMDI1IC0gaHR0cDovL3d3dy52aWRlb2xhbi5vcmcveDI2NC5odG1sIC0gb3B0aW9uczogY2Fi
        YWM9MCByZWY9MSBkZWJsb2NrPTA6MDowIGFuYWx5c2U9MDowIG1lPWRpYSBzdWJtZT0wIHBzeT0xIHBzeV9yZD0xLjAwOjAuMDAgbWl4ZWRfcmVmPT
        AgbWVfcmFuZ2U9MTYgY2hyb21hX21lPTEgdHJlbGxpcz0wIDh4OGRjdD0wIGNxbT0wIGRlYWR6b25lPTIxLDExIGZhc3RfcHNraXA9MSBjaHJvbWFf
        cXBfb2Zmc2V0PTAgdGhyZWFkcz0xIGxvb2thaGVhZF90aHJlYWRzPTEgc2xpY2VkX3RocmVhZHM9MCBucj0wIGRlY2ltYXRlPTEgaW50ZXJsYWNlZD
        0wIGJsdXJheV9jb21wYXQ9MCBjb25zdHJhaW5lZF9pbnRyYT0wIGJmcmFtZXM9MCB3ZWlnaHRwPTAga2V5aW50PTI1MCBrZXlpbnRfbWluPTI1IHNj
        ZW5lY3V0PTAgaW50cmFfcmVmcmVzaD0wIHJjPWNyZiBtYnRyZWU9MCBjcmY9NTAuMCBxY29tcD0wLjYwIHFwbWluPTAgcXBtYXg9ODEgcXBzdGVwPT
        QgaXBfcmF0aW89MS40MCBhcT0wAIAAAAFliIQ6DGAMe5gyi7r/4SLbj4V8EAk3jfeAO/MTGPUwaq9hmDkB8OYAUMBGFafrv9f8Rg5AAXBhAAEB+IAB
        8MYBB2gcDL8Ty//CLm2ZW3GAIABIIBKgDAzmPgDM7WGz9eg/hLHkxHd8Hd/wd3wd3+lme1PCTgbtM9Vcyirn5RVzKKue0LYBWRrltI+MXPpmNJSTcd
        vLwcI4EFShhbEgTIl0VfAFRqQqDKTx0DW4yFUFnAwGtS//NptwWAATg6A4kCZBYNpDoei4NGLgGUjyZYQ/njoWcDhi9/y7tt4wAAogcBocAJkQAJke
        C0eC0Fj0hQekeOkx+GHACL3ZM0frnnMPty6XcQCSERCyIBMmoYH5pRTxwJkDHeEko8dg
        """
      ])[0]
    ),
    (
      .h264, "8 bits 4:4:4",
      decode([
        """
        AAAAAWf0AAqRloR6EAAAAwAQAAADA8jxImoAAAABaM4BhGSAAAABBgX//0LcRem95tlIt5Ys2CDZI+7veDI2NCAtIGNvcmUgMTY1IC0gSC4yNjQvTV
        BFRy00IEFWQyBjb2RlYyAtIENvcHlsZWZ0IDIwMDMtMjAyNSAtIGh0dHA6Ly93d3cudmlkZW9sYW4ub3JnL3gyNjQuaHRtbCAtIG9wdGlvbnM6IGNh
        YmFjPTAgcmVmPTEgZGVibG9jaz0wOjA6MCBhbmFseXNlPTA6MCBtZT1kaWEgc3VibWU9MCBwc3k9MSBwc3lfcmQ9MS4wMDowLjAwIG1peGVkX3JlZj
        0wIG1lX3JhbmdlPTE2IGNocm9tYV9tZT0xIHRyZWxsaXM9MCA4eDhkY3Q9MCBjcW09MCBkZWFkem9uZT0yMSwxMSBmYXN0X3Bza2lwPTEgY2hyb21h
        X3FwX29mZnNldD02IHRocmVhZHM9MSBsb29rYWhlYWRfdGhyZWFkcz0xIHNsaWNlZF90aHJlYWRzPTAgbnI9MCBkZWNpbWF0ZT0xIGludGVybGFjZW
        Q9MCBibHVyYXlfY29tcGF0PTAgY29uc3RyYWluZWRfaW50cmE9MCBiZnJhbWVzPTAgd2VpZ2h0cD0wIGtleWludD0yNTAga2V5aW50X21pbj0yNSBz
        Y2VuZWN1dD0wIGludHJhX3JlZnJlc2g9MCByYz1jcmYgbWJ0cmVlPTAgY3JmPTUwLjAgcWNvbXA9MC42MCBxcG1pbj0wIHFwbWF4PTY5IHFwc3RlcD
        00IGlwX3JhdGlvPTEuNDAgYXE9MACAAAABZYiEOghAGPcwZRd1/8JFtx8AEP1xZ8fG+G+/X98ABZkQ2VWcPhXf8Aj55E+AAR88ifAnGqo7eZ2KInwA
        /hCDkB///xwBAG5AFs/hf//xAADgAAgAeMd7b4AYf/8IQcgAL//+DgIAAgb/4S/6/+DgAHi/4CL1tv/4QgEFtA4GX4nl/+EXNsytuMIn8omAAIAgmP
        3jJB///+HG7ozBfJUAqe7ODRrQfgC1tMbGPX+MX747f/jo8mI7vg7v+Du+Du/w7TP//DSmf/+tSddx0B1WmequZRVz8oq5lFXP//4epn//joBWRrlt
        I+MXPpmNJSTcdvLwAZRI9MAKCDT+/y6FmX62WVnL1pBAA7sELtItjVlh1tV1UGKlqpfkzLKKl4D6aQ2Meh0DAa1L/82m3AD+kwABAC9AKa4/dw6Ryy
        s5Zp/rys5ZW5fgBmIUgCWkertr8rOWHSHLbm7beTMsmZfjoHDF7/l3bbwBoPgACAagAZCbf4eZSw8xS/DzFLDzFL8ARgAvYCyjTbv3K3LJmX6qWUVL
        8IQAi92TNH655zD7cul3AA/mYcnp6ghv1UolLVfKOY/gATo0CZlmIFYd//t/t0AMu5sofgAyaPwk9/oNhUsoqX8=
        """
      ])[0]
    ),
    (
      .av1, "10 bits 4:2:0",
      decode([
        """
        EgAKCgAAAAKv94lfKAgy1AcQAJmAIIEEABAA3SvcXiMct2FP2rWGTwa6UlPIrJ1nugVLkniJlCEzkY15PrPphXfD6qRrcuVHwepuaIolXmG26RYP2m
        p2LpqxmVLOMtcsSqEFwSC23d1aZ6td3cYlb92SLPQ1/GwJ9jxW22gkhNY+o9JRR3cDgrSvaf9ePHBu1QTC7HghMzF8mPS74BQD4BKcFfeDV8aV5Lse
        Da5Q2nYsOAcbHtbN0HpINe2VlqnAJrnPPeUJhj5eEPGgg6XM5EmTKy3PpA8KKwrotRZZzH69KYiu2XTIpNPi3bQou8O4Yo/lMyXxsWp4E5LWh+IX81
        CFA9E2WvE2kzeYsZ3eeqJVIK+Z4BxaV8MV7cqtotuQ1dQeuIr501c+W9ZgWtxgjPiyY0ptKILDTudBIDfpJdmM939p+V8WRHx8ag/zXb19ryTz5jyf
        2RfHk1mLkqjUu23x8lkwzjm5JN9+sJK4+22oi8uU0lLDE9PsVjCwI0o1CcX5Oi1p6VIE0Ya8GF8VRaX+rkrW9XNmf+fr6BPaIX7kIPOgzYjwOw6iEp
        3WXOZwrrJJ6AjEaPyNjMtftlL61yl4miR5pjV5gWbjJJPr+8WZgTLIGuomWMtgwf5G+Dv89FRzDhNa+isBtRONNlQf8M+neKhnJUGn5H3wbH795+2o
        AFN/Id08djxpbTLXnX28tW1e7ybnJdk+t2TJyXOrJMrm2lfeFDZD+v0mHqTR03wz0JijYuz9xxR0RqqdoefoB+/rNRAw6zp/lHGoDOd07zkE9ad/MN
        LhO6EyJCRdBGfwnWEEh/zxwOUbYPofHky9/xVSSPrl79hh3YT8K5uHm9FBXLFsvZ5MIOVW+spUtDi5mmqme8QMdav1U6TA7qEPelgxKYqEmegcB4R8
        WZCCF0b/lHYCTCVTabV4MQC9J25eyDYBVhB/x79H2RHLtr2HgIKDILSEpNs3mWqnJuHMQZsWKuITNO1AIj7irGIv3RKWmdcZfBpGIhEtzUVrPx7aZx
        FmANhvsF8nTnvWqaduyH7LsjT9Fjx/NM8qlM+dU6uq6THI8wgynTVlf6hhJ4pzdfdiWK6FnjubYX/4UW4c9FJhC+amaZdkUkcWZq6FuEDYQOr6Cn/k
        cMsu8pyiB12xKOZDVSwqRp1h+IVaERiKXPsajYLw1CFqiWfGtrv3ig/1f3rXiH2Ry2ebkl38ZQXQwv1iGOJRxp8Xxu4hUp5vQKpvouSPM+tfBA5nf+
        LyoctL3cdvGsZZOP6y5iJ8wf18IAdRRaimogdkr9Aw+bEXz6wSbXOeSUVS477o65FLUjttlPS6wA==
        """
      ])[0]
    ),
  ]

  private static func decode(_ frames: [String]) -> [[UInt8]] {
    frames.map { Array(Data(base64Encoded: $0.replacingOccurrences(of: "\n", with: "")) ?? Data()) }
  }
}
