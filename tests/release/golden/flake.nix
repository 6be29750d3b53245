{
  description = "LiteIO 1.2.3, an object store that speaks Amazon S3";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      archives = {
        "aarch64-darwin" = { url = "https://example.org/liteio/releases/download/v1.2.3/liteio-1.2.3-aarch64-apple-darwin.tar.gz"; hash = "sha256-DQ0NDQ0NDQ0NDQ0NDQ0NDQ0NDQ0NDQ0NDQ0NDQ0NDQ0="; };
        "aarch64-linux" = { url = "https://example.org/liteio/releases/download/v1.2.3/liteio-1.2.3-aarch64-unknown-linux-musl.tar.gz"; hash = "sha256-GhoaGhoaGhoaGhoaGhoaGhoaGhoaGhoaGhoaGhoaGho="; };
        "x86_64-linux" = { url = "https://example.org/liteio/releases/download/v1.2.3/liteio-1.2.3-x86_64-unknown-linux-gnu.tar.gz"; hash = "sha256-PDw8PDw8PDw8PDw8PDw8PDw8PDw8PDw8PDw8PDw8PDw="; };
      };
      package = system:
        let pkgs = nixpkgs.legacyPackages.${system};
        in pkgs.stdenvNoCC.mkDerivation {
          pname = "liteio";
          version = "1.2.3";
          src = pkgs.fetchurl archives.${system};
          nativeBuildInputs = [ pkgs.installShellFiles ];
          # The program is static and stripped.
          dontFixup = true;
          installPhase = ''
            install -D -m 755 liteio $out/bin/liteio
            installManPage man/*.1
            installShellCompletion --cmd liteio --bash completions/liteio.bash --zsh completions/_liteio --fish completions/liteio.fish
          '';
          meta = {
            description = "Object store that speaks Amazon S3";
            homepage = "https://example.org/liteio";
            license = with pkgs.lib.licenses; [ mit asl20 ];
            mainProgram = "liteio";
          };
        };
    in {
      packages = builtins.mapAttrs (system: _: { default = package system; }) archives;
    };
}
