/// What is to be known of the units that H.264 (section 7.3.1) and H.265 (section 7.3.1.1) are made of.
public enum NALUnit {
  /// Kinds of NAL units that matter here.
  public enum Kind: Sendable {
    /// A slice of a picture that refers to others, or may.
    case slice
    /// A slice of a picture with which decoding can start.
    case keySlice
    /// What the layers of a stream have in common; H.265 only.
    case videoParameters
    /// What pictures look like in general: their size, for one.
    case sequenceParameters
    /// What pictures look like in particular.
    case pictureParameters
    /// Begins a picture and says nothing else.
    case delimiter
    /// Anything else; a decoder knows whether it is of use.
    case other
  }

  /// What stands before a NAL unit in a byte stream (Annex B of both).
  public static let startCode: [UInt8] = [0, 0, 0, 1]

  /// The kind that the header byte of a unit of H.264 names (table 7-1).
  public static func h264Kind(_ header: UInt8) -> Kind {
    switch header & 0x1f {
    case 1, 2: .slice
    case 5: .keySlice
    case 7: .sequenceParameters
    case 8: .pictureParameters
    case 9: .delimiter
    default: .other
    }
  }

  /// The kind that the first header byte of a unit of H.265 names (table 7-1). Decoding can start with every kind of
  /// picture of the numbers 16 to 21.
  public static func h265Kind(_ header: UInt8) -> Kind {
    switch header >> 1 & 0x3f {
    case 0...9: .slice
    case 16...21: .keySlice
    case 32: .videoParameters
    case 33: .sequenceParameters
    case 34: .pictureParameters
    case 35: .delimiter
    default: .other
    }
  }
}
