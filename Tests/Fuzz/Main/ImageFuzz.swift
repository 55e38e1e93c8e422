import Layouts

@testable import Compositor

/// Pictures that others name: PNG by cairo and libpng, JPEG by libjpeg, in each form that they are loaded in. The first
/// byte chooses the form.
func fuzzImages(_ bytes: UnsafeRawBufferPointer) {
  guard let choice = bytes.first else { return }
  let forms: [ImageForm] = [
    .square(96), .high(48, maximumWidth: 256), .canvas(width: 320, height: 180, fit: .cover, ground: Colour(0)),
    .canvas(width: 64, height: 64, fit: .contain, ground: Colour(0xffffff)),
  ]
  let form = forms[Int(choice) % forms.count]
  guard let image = try? form.load(Array(bytes.dropFirst())) else { return }
  precondition(image.byteCount <= 4 << 20, "a loaded image is larger than its form")
}
