class Liteio < Formula
  desc "Object store that speaks Amazon S3"
  homepage "https://example.org/liteio"
  version "1.2.3"
  license any_of: ["MIT", "Apache-2.0"]

  on_linux do
    on_arm do
      url "https://example.org/liteio/releases/download/v1.2.3/liteio-1.2.3-aarch64-unknown-linux-musl.tar.gz"
      sha256 "1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a"
    end
    on_intel do
      url "https://example.org/liteio/releases/download/v1.2.3/liteio-1.2.3-x86_64-unknown-linux-gnu.tar.gz"
      sha256 "3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c"
    end
  end

  on_macos do
    on_arm do
      url "https://example.org/liteio/releases/download/v1.2.3/liteio-1.2.3-aarch64-apple-darwin.tar.gz"
      sha256 "0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d"
    end
  end

  def install
    bin.install "liteio"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/liteio.bash" => "liteio"
    zsh_completion.install "completions/_liteio"
    fish_completion.install "completions/liteio.fish"
  end

  service do
    run [opt_bin/"liteio", "server", "--data-dir", var/"liteio"]
    keep_alive true
    log_path var/"log/liteio.log"
    error_log_path var/"log/liteio.log"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/liteio --version")
  end
end
