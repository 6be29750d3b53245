//! Tests accepted and rejected scripts.

use proptest::prelude::*;

use super::expand::Scope;
use super::syntax::{Command, List, Refusal};
use super::*;

fn checked(script: &str) -> Result<List, Refusal> {
    let list = parse(script)?;
    check(&list)?;
    Ok(list)
}

/// The forms in compose files, charts and start scripts.
#[test]
fn common_forms_are_taken() {
    let scripts = [
        r#"mkdir -p /data/langfuse && minio server --address ":9000" --console-address ":9001" /data"#,
        "while [ ! -f /testcontainers_start.sh ]; do sleep 0.1; done; /testcontainers_start.sh",
        "#!/bin/bash\nexport LAMBDA_DOCKER_FLAGS=\"-l a.b=true -l c=d\"\n/usr/local/bin/docker-entrypoint.sh\n",
        "\nmc alias set supa-minio http://minio:9000 ${MINIO_ROOT_USER} ${MINIO_ROOT_PASSWORD} &&\nmc mb --ignore-existing supa-minio/${BUCKET}\n",
        "/usr/bin/mc alias set impress http://minio:9000 impress password &&   /usr/bin/mc mb impress/media &&  /usr/bin/mc version enable impress/media &&  exit 0;",
        "until (/usr/bin/mc config host add minio http://minio:9000 admin password) do echo '...waiting...' && sleep 1; done;\n/usr/bin/mc rm -r --force minio/warehouse;\ntail -f /dev/null\n",
        "until /usr/bin/mc alias set local http://minio:9000 a b; do sleep 1; done &&\n/usr/bin/mc mb -p local/files && echo 'ready (private)'",
        "until mc ls minio > /dev/null 2>&1; do\n sleep 10\ndone",
        "curl -f http://localhost:9000/minio/health/live || exit 1",
        "set -e\nBUCKETS=\"a b\"\nfor bucket in $BUCKETS; do\n  if ! mc ls \"local/${bucket}\" >/dev/null 2>&1; then\n    mc mb \"local/$bucket\"\n  else\n    echo \"there is $bucket\" >&2\n  fi\ndone",
        "/usr/bin/docker-entrypoint.sh \"$@\" &\nsleep 3\nmc alias set m http://localhost:9000 $U $P\nwait\n",
        "# a comment\n[ -z \"$A\" ] && exec minio server ${MINIO_VOLUMES:-/data}",
        "if [ -d /a ]; then echo 1; elif test -f /b; then echo 2; else { echo 3; }; fi",
        "set -eo pipefail; set +e -o nounset; n=0; until [ $n -gt 5 ]; do [ -z \"$A\" ] || break; done",
        "curl -f http://localhost:9000/minio/health/cluster?verify http://[::1]:9000/; A=[a]? mc ls",
        "for i in 1 2; do if [ $i -eq 2 ]; then continue; fi; (exit 1); done; [ \"$1\" = -v ] && cd /data",
        "[ \"${1:-}\" != server ] || exec \"$@\"",
        "A=1 B='2 3' minio server \\\n  /data",
        "",
        "# nothing",
    ];
    for script in scripts {
        if let Err(refusal) = checked(script) {
            panic!("{script}\n{refusal}");
        }
    }
}

#[test]
fn what_is_not_known_is_refused_by_name() {
    let rows = [
        ("echo a\njq http://a", "line 2: there is no command \"jq\""),
        ("echo ?", "pattern"),
        ("echo [a]", "pattern"),
        ("mc cp [$A]x y", "pattern"),
        ("true\n[ a -a b ]", "line 2: [ -a"),
        ("[ -f x -o -f y ]", "[ -o"),
        ("test -L x", "test -L"),
        ("echo -e 'a\\n'", "echo -e"),
        ("for i in 1; do while :; do break 2; done; done", "break with an argument"),
        ("break", "break outside a loop"),
        ("while :; do (break); done", "break outside a loop"),
        ("if :; then continue; fi", "continue outside a loop"),
        ("set -- a", "the option --"),
        ("set -f", "-f"),
        ("set -eo posix", "-o posix"),
        ("set -o", "after -o"),
        ("set", "set without"),
        ("set $A", "set without literal options"),
        ("exec 2>&1", "exec without a command"),
        ("exec break", "break outside a loop"),
        ("exit a", "exit with this code"),
        ("export -p", "export of \"-p\""),
        ("unset -f a", "unset of \"-f\""),
        ("cd -", "cd with an option"),
        ("cd", "cd without"),
        ("wait 1", "wait with"),
        ("/bin/mkdir -m 700 x", "mkdir -m"),
        ("tail -n 1 x", "tail of"),
        ("IFS=,", "IFS"),
        ("echo a | mc pipe x/y", "a pipe"),
        ("echo $(date)", "$(…)"),
        ("echo `date`", "`…`"),
        ("echo \"`date`\"", "`…`"),
        ("echo a > /data/x", "/dev/null"),
        ("echo a 3>/dev/null", "other streams"),
        ("mc cp /data/* x", "pattern"),
        ("mkdir -p /data/{a,b}", "braces"),
        ("cat < x", "<"),
        ("case a in a) echo;; esac", "case"),
        ("f() { echo; }", "function"),
        ("[[ -f x ]] && echo", "[["),
        ("echo ${A#x}", "${A…}"),
        ("echo $((1+1))", "$(…)"),
        ("echo ~/x; ls ~", "~"),
        ("if true; then echo", "\"fi\" is missing"),
        ("if true; echo; fi", "\"then\" is missing"),
        ("while true; do done", "where no command can be"),
        ("echo 'a", "quotes"),
        ("echo \"a", "quotes"),
        ("echo ${A", "${A…}"),
        ("&& echo", "\"&&\""),
        ("echo &&", "ends in the middle"),
        ("fi", "\"fi\""),
        ("(true) &", "&"),
        ("exec jq a", "jq"),
        ("true; if false; then foo; fi", "foo"),
    ];
    for (script, expected) in rows {
        let refusal = checked(script).expect_err(script).to_string();
        assert!(refusal.contains(expected), "{script}: {refusal}");
    }
}

#[test]
fn nesting_is_bounded() {
    for (open, close) in [("(", ")"), ("if ", ""), ("${A:-", "}"), ("{ ", "; }"), ("while (", ")")]
    {
        let script = format!("{}echo{}", open.repeat(100_000 / open.len()), close.repeat(10));
        assert!(checked(&script).is_err(), "{open}");
    }
    assert!(checked(&"#".repeat(SCRIPT_BYTES_MAX + 1)).is_err());
}

fn scope() -> Scope {
    let mut scope = Scope {
        variables: Default::default(),
        arguments: ["sh", "one", "two words"].map(str::to_owned).to_vec(),
        status: 3,
        refuses_unset: false,
    };
    scope.set("A", "a b".to_owned());
    scope.set("EMPTY", String::new());
    scope
}

#[test]
fn words_are_expanded_as_shells_do() {
    let rows: [(&str, &[&str]); 25] = [
        ("\"$*\" x\"$*\"", &["one two words", "xone two words"]),
        ("$* \"${*}\"", &["one", "two", "words", "one two words"]),
        ("x\"$@\"y", &["xone", "two wordsy"]),
        ("\"\" \"$EMPTY\" \"${NO:-}\"", &["", "", ""]),
        ("\"$A\"\"\"", &["a b"]),
        ("a  b", &["a", "b"]),
        ("'a  b' \"c d\"", &["a  b", "c d"]),
        ("$A", &["a", "b"]),
        ("\"$A\"", &["a b"]),
        ("x${A}y", &["xa", "by"]),
        ("'$A' \\$A", &["$A", "$A"]),
        ("$NO", &[]),
        ("\"$NO\" ''", &["", ""]),
        ("${NO:-c d}", &["c", "d"]),
        ("\"${NO:-c d}\"", &["c d"]),
        ("${EMPTY:-c}", &["c"]),
        ("${EMPTY-c}", &[]),
        ("${NO:-${A}}", &["a", "b"]),
        ("\"$@\"", &["one", "two words"]),
        ("$@", &["one", "two", "words"]),
        ("$1 $# $? $9", &["one", "2", "3"]),
        ("--address \":9000\"", &["--address", ":9000"]),
        ("\"a\\\"b\" \"a\\nb\"", &["a\"b", "a\\nb"]),
        ("a$ $", &["a$", "$"]),
        ("a#b # c", &["a#b"]),
    ];
    for (text, expected) in rows {
        let list = parse(&format!("echo {text}")).expect(text);
        let Command::Simple { words, .. } = &list[0].first.command else { panic!("{text}") };
        let fields = scope().fields(words).expect("nothing is refused");
        assert_eq!(fields[1..], *expected, "{text}");
    }
}

#[test]
fn arguments_that_there_are_not_make_no_words() {
    let scope = Scope { arguments: vec!["sh".to_owned()], ..scope() };
    let rows: [(&str, &[&str]); 6] = [
        ("x \"$@\" y", &["x", "y"]),
        ("x $@ $* y", &["x", "y"]),
        ("\"${@}\"", &[]),
        ("a\"$@\"", &["a"]),
        ("\"$@ \"", &[" "]),
        ("\"$*\" \"$@\"\"\"", &["", ""]),
    ];
    for (text, expected) in rows {
        let list = parse(&format!("echo {text}")).expect(text);
        let Command::Simple { words, .. } = &list[0].first.command else { panic!("{text}") };
        assert_eq!(scope.fields(words).expect("nothing is refused")[1..], *expected, "{text}");
    }
}

#[test]
fn unset_variables_can_be_refused() {
    let list = parse("echo $NO").expect("valid");
    let Command::Simple { words, .. } = &list[0].first.command else { panic!() };
    let scope = Scope { refuses_unset: true, ..scope() };
    assert_eq!(scope.fields(words), Err("NO".to_owned()));
}

/// Fragments of scripts in random order.
fn soup() -> impl Strategy<Value = String> {
    let pieces = [
        "if",
        "then",
        "elif",
        "else",
        "fi",
        "while",
        "until",
        "do",
        "done",
        "for",
        "in",
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        "!",
        "&&",
        "||",
        "&",
        ";",
        ";;",
        "\n",
        " ",
        "|",
        ">",
        "2>&1",
        "/dev/null",
        "<",
        "echo",
        "exec",
        "A=",
        "$A",
        "${A",
        ":-",
        "-",
        "$@",
        "$",
        "'",
        "\"",
        "\\",
        "`",
        "*",
        "~",
        "#",
        "é",
        "\r",
        "exit",
        "1",
        "wait",
        "set -e",
        "true",
        "false",
        "test",
    ];
    let piece = proptest::sample::select(pieces.to_vec());
    proptest::collection::vec((piece, any::<bool>()), 0..40).prop_map(|pieces| {
        let with_blank = |(piece, blank): (&str, bool)| {
            if blank { format!("{piece} ") } else { piece.to_owned() }
        };
        pieces.into_iter().map(with_blank).collect()
    })
}

/// Expands every word of an accepted script, as if all of it were run.
fn expand_all(list: &List, scope: &Scope) {
    let expand = |words: &[syntax::Word]| {
        let _ = scope.fields(words);
        for word in words {
            let _ = scope.text(word);
        }
    };
    for command in list {
        for pipeline in std::iter::once(&command.first).chain(command.rest.iter().map(|(_, it)| it))
        {
            match &pipeline.command {
                Command::Simple { words, .. } => expand(words),
                Command::Group { list, .. } => expand_all(list, scope),
                Command::If { branches, otherwise } => {
                    for (condition, body) in branches {
                        expand_all(condition, scope);
                        expand_all(body, scope);
                    }
                    expand_all(otherwise, scope);
                }
                Command::While { condition, body, .. } => {
                    expand_all(condition, scope);
                    expand_all(body, scope);
                }
                Command::For { words, body, .. } => {
                    expand(words);
                    expand_all(body, scope);
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn no_script_panics(script in prop_oneof![soup(), any::<String>(), "[ -~\n]{0,80}"]) {
        if let Ok(list) = checked(&script) {
            expand_all(&list, &scope());
        }
    }
}
