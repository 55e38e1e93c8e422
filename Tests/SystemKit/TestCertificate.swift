import Glibc

/// A certificate for `localhost` that nobody has signed but itself, made for one test.
package struct TestCertificate {
  private let directory: String
  /// The file that whoever trusts it is given (PEM).
  package var certificate: String { directory + "/cert.pem" }

  /// Good from `from` until `until` (`YYYYMMDDHHMMSSZ`); without, from now on. Nil when there is no `openssl` command.
  package init?(from: String? = nil, until: String? = nil) {
    var template = Array("/tmp/recbot-tls-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { return nil }
    directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let command =
      "cd \(directory) && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem "
      + "-out cert.pem -days 2 -subj /CN=test -addext subjectAltName=DNS:localhost 2>/dev/null"
    guard system(command) == 0 else { return nil }
    guard let from, let until else { return }
    // `openssl req` can only count from now on.
    let again =
      "cd \(directory) && touch index && echo 01 > serial && printf '[ca]\\ndefault_ca=d\\n[d]\\ndatabase=index\\nserial=serial"
      + "\\nnew_certs_dir=.\\npolicy=p\\ndefault_md=sha256\\n[p]\\ncommonName=supplied\\n[x]\\nsubjectAltName=DNS:localhost\\n"
      + "basicConstraints=CA:TRUE\\n' > ca.cnf && openssl req -new -key key.pem -subj /CN=test -out test.csr 2>/dev/null "
      + "&& openssl ca -batch -config ca.cnf -selfsign -keyfile key.pem -in test.csr -startdate \(from) -enddate \(until) "
      + "-extensions x -notext -out cert.pem 2>/dev/null"
    guard system(again) == 0 else { return nil }
  }

  /// For a server that shows it; nil when it is gone.
  package func serverContext() -> TestTLSContext? {
    TestTLSContext(certificate: certificate, key: directory + "/key.pem")
  }

  /// Removes its files.
  package func remove() { _ = system("rm -r \(directory)") }
}
