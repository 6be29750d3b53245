//! The names that the binary can be called by.

/// The program that a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Applet {
    /// `liteio` itself.
    Own,
    /// `minio server DIR`.
    Minio,
    LocalStack,
    /// The start script of MinIO and LocalStack images.
    Entrypoint,
    /// `mc`.
    Client,
    /// `aws` and `awslocal`.
    Aws,
    Curl,
    Wget,
    /// `nc -z`.
    Nc,
    /// The shell of images that have one.
    Shell,
}

/// All names. The image has a link for each (`.ci/image-tree`).
pub(super) const NAMES: [(&str, Applet); 12] = [
    ("liteio", Applet::Own),
    ("minio", Applet::Minio),
    ("localstack", Applet::LocalStack),
    ("docker-entrypoint.sh", Applet::Entrypoint),
    ("mc", Applet::Client),
    ("aws", Applet::Aws),
    ("awslocal", Applet::Aws),
    ("curl", Applet::Curl),
    ("wget", Applet::Wget),
    ("nc", Applet::Nc),
    ("sh", Applet::Shell),
    ("bash", Applet::Shell),
];

/// Program directories in images.
const DIRECTORIES: [&str; 5] = ["", "/bin", "/usr/bin", "/usr/local/bin", "/opt/bin"];

/// The applet of a file name.
pub(super) fn applet(name: &str) -> Option<Applet> {
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, applet)| *applet)
}

/// The applet of a command, by name or by a path in a program directory.
pub(super) fn applet_at(name: &str) -> Option<Applet> {
    match name.rsplit_once('/') {
        None => applet(name),
        Some((directory, name)) if DIRECTORIES.contains(&directory) => applet(name),
        Some(_) => None,
    }
}
