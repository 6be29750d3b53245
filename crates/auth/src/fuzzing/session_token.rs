//! Session tokens.

use std::sync::LazyLock;

use liteio_store::{EncryptionKey, KeyRing, SecretKeys, SystemRandom};

use liteio_identity::{CurrentDirectory, Directory, Issued, Session, Sessions};

const NOW: i64 = 1_369_353_600;

static KEYS: LazyLock<SecretKeys> = LazyLock::new(|| {
    let ring = KeyRing::new(vec![EncryptionKey::new([7; 32])], Vec::new());
    SecretKeys::new(&ring, None)
});

static DIRECTORY: LazyLock<CurrentDirectory> = LazyLock::new(|| {
    let users = [("example", "AKIAIOSFODNN7EXAMPLE", "a secret of the user")];
    let directory = Directory::of_roots(&users).expect("valid users");
    CurrentDirectory::new(directory, Sessions::new(KEYS.clone(), b"fuzzing"))
});

/// An issued token.
static ISSUED: LazyLock<Issued> = LazyLock::new(|| {
    let now = DIRECTORY.now();
    let user = &now.find("AKIAIOSFODNN7EXAMPLE").expect("the user").user;
    DIRECTORY.begin(Session::new(&user.caller.user_id, NOW, 900)).expect("random bytes")
});

/// A token with the start and the end of an issued one, and `data` in between: it is refused,
/// unless it equals the issued token. Its contents are either refused, or a session of an existing
/// user.
pub fn session_token(data: &[u8]) {
    let issued = &*ISSUED;
    let text = String::from_utf8_lossy(data);
    let key = |token: &str| DIRECTORY.key(&issued.access_key, Some(token), NOW);
    for token in [text.to_string(), format!("{}{text}", &issued.token[..40])] {
        assert!(token == issued.token || key(&token).is_err(), "{token}");
    }
    // Contents that only this server can seal.
    let sealed = KEYS.seal("session token", data, &SystemRandom).expect("a key");
    let token = base64_simd::URL_SAFE_NO_PAD.encode_to_string(sealed);
    let named = serde_json::from_slice::<serde_json::Value>(data).ok();
    let named = named.and_then(|json| Some(json.get("key")?.as_str()?.to_owned()));
    let named = named.unwrap_or_default();
    if let Ok(key) = DIRECTORY.key(&named, Some(&token), NOW) {
        assert_eq!((&*key.id, &*key.user.name), (&*named, "example"));
    }
}
