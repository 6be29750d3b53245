package liteio_test

import (
	"io"
	"os"
	"strings"
	"testing"

	"liteio"
)

func TestWhatThePackageSetsIsRefusedByName(t *testing.T) {
	for _, row := range []struct {
		option        liteio.Option
		name, instead string
	}{
		{liteio.Arguments("--tls-self-signed"), "--tls-self-signed", "plain HTTP"},
		{liteio.Arguments("--tls-cert=a.pem"), "--tls-cert", "plain HTTP"},
		{liteio.Arguments("--access-key", "tester"), "--access-key", "option Credentials"},
		{liteio.Arguments("--bucket", "photos", "--secret-key", "secret"), "--secret-key", "option Credentials"},
		{liteio.Arguments("--region=eu-west-1"), "--region", "option Region"},
		{liteio.Arguments("--port", "9000"), "--port", "option Port"},
		{liteio.Arguments("-p9000"), "-p", "option Port"},
		{liteio.Arguments("--credentials-file", "users.toml"), "--credentials-file", "option Credentials"},
		{liteio.Arguments("--data-dir", "data"), "--data-dir", "option DataDir"},
		{liteio.Arguments("-d", "data"), "-d", "option DataDir"},
		{liteio.Arguments("--memory"), "--memory", "option DataDir"},
		{liteio.Arguments("--address", "127.0.0.1:9000"), "--address", "option Port"},
		{liteio.Arguments("--help"), "--help", "in a shell"},
		{liteio.Arguments("-h"), "-h", "in a shell"},
		{liteio.Environment("LITEIO_TLS_SELF_SIGNED", "true"), "LITEIO_TLS_SELF_SIGNED", "plain HTTP"},
		{liteio.Environment("LITEIO_ACCESS_KEY", "tester"), "LITEIO_ACCESS_KEY", "option Credentials"},
		{liteio.Environment("MINIO_ROOT_USER", "tester"), "MINIO_ROOT_USER", "option Credentials"},
		{liteio.Environment("LITEIO_REGION", "eu-west-1"), "LITEIO_REGION", "option Region"},
		{liteio.Environment("LITEIO_PORT", "9000"), "LITEIO_PORT", "option Port"},
		{liteio.Environment("LITEIO_DATA_DIR", "data"), "LITEIO_DATA_DIR", "option DataDir"},
	} {
		// A binary that is not there: nothing is started.
		_, err := liteio.Run(row.option, liteio.Binary("/nowhere"))
		if err == nil || !strings.Contains(err.Error(), row.name+" is not possible") || !strings.Contains(err.Error(), row.instead) {
			t.Errorf("%s: the error is %v", row.name, err)
		}
	}
}

func TestAnArgumentThatIsNoFlagIsRefused(t *testing.T) {
	for _, arguments := range [][]string{
		{"server"}, {"data"}, {""}, {"--bucket", "photos", "data"}, {"--bucket=photos", "data"}, {"-p9000", "data"},
		{"--aws-defaults", "data"},
	} {
		_, err := liteio.Run(liteio.Arguments(arguments...))
		if err == nil || !strings.Contains(err.Error(), "option ") || strings.Contains(err.Error(), "--memory") {
			t.Errorf("%q: the error is %v", arguments, err)
		}
	}
	liteio.Start(t, liteio.Arguments("--bucket", "photos", "--aws-defaults", "--bucket=letters"))
}

func TestAVariableWithoutANameIsRefused(t *testing.T) {
	for _, name := range []string{"", "LITEIO_LOG=info", "="} {
		_, err := liteio.Run(liteio.Environment(name, "x"))
		if err == nil || !strings.Contains(err.Error(), "is no name of a variable") {
			t.Errorf("%q: the error is %v", name, err)
		}
	}
}

func TestAFlagAndItsValueInOneArgumentAreRefused(t *testing.T) {
	_, err := liteio.Run(liteio.Arguments("--bucket photos"))
	if err == nil || !strings.Contains(err.Error(), `give two arguments, "--bucket" and "photos"`) {
		t.Errorf("the error is %v", err)
	}
	// A value may have spaces.
	_, err = liteio.Run(liteio.Arguments("--bucket", "a b"))
	if err == nil || strings.Contains(err.Error(), "two arguments") {
		t.Errorf("the error is %v", err)
	}
}

func TestAVariableBesideItsOptionIsRefused(t *testing.T) {
	for name, row := range map[string]struct {
		option liteio.Option
		beside string
	}{
		"LITEIO_BUCKET":         {liteio.Buckets("photos"), "the option Buckets"},
		"LITEIO_BUCKET_FILE":    {liteio.Buckets("photos"), "the option Buckets"},
		"MINIO_DEFAULT_BUCKETS": {liteio.Buckets("photos"), "the option Buckets"},
		"LITEIO_SEED":           {liteio.Seed("seed"), "the option Seed"},
		"LITEIO_PROFILE":        {liteio.Profile("minio"), "the option Profile"},
		"LITEIO_LOG_FORMAT":     {liteio.Arguments("--log-format=json"), "--log-format of the option Arguments"},
	} {
		_, err := liteio.Run(liteio.Environment(name, "given"), row.option)
		if err == nil || !strings.Contains(err.Error(), name+" has no effect beside "+row.beside) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	liteio.Start(t, liteio.Environment("LITEIO_BUCKET", "photos"), liteio.Profile("minio"), liteio.Environment("LITEIO_LOG", "info"))
}

func TestAnOptionThatIsNilIsRefused(t *testing.T) {
	_, err := liteio.Run(liteio.Buckets("photos"), nil)
	if err == nil || err.Error() != "option 2 of 2 is nil: leave it out" {
		t.Errorf("the error is %v", err)
	}
}

func TestMessagesOfTheServerNameTheOptions(t *testing.T) {
	for message, option := range map[string]liteio.Option{
		"Credentials: the access key must have": liteio.Credentials("a", "tester-secret"),
		"Credentials: the secret key must have": liteio.Credentials("tester", "short"),
	} {
		if _, err := liteio.Run(option); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("the error is %v, not %s", err, message)
		}
	}
}

// Such as os.Getenv of a variable that is not set: the data would be in memory, where they end with the server.
func TestAnEmptyTextIsRefused(t *testing.T) {
	for name, option := range map[string]liteio.Option{
		"DataDir": liteio.DataDir(""), "Buckets": liteio.Buckets("photos", ""), "Seed": liteio.Seed(""),
		"Profile": liteio.Profile(""), "Region": liteio.Region(""),
	} {
		_, err := liteio.Run(option)
		if err == nil || !strings.HasPrefix(err.Error(), name+" is given an empty text") {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

func TestEmptyCredentialsAreRefused(t *testing.T) {
	for _, pair := range [][2]string{{"", ""}, {"tester", ""}, {"", "tester-secret"}} {
		_, err := liteio.Run(liteio.Credentials(pair[0], pair[1]))
		if err == nil || !strings.Contains(err.Error(), "Credentials: the access key and the secret key must not be empty") {
			t.Errorf("%q: the error is %v", pair, err)
		}
	}
}

func TestAVariableThatTheServerDoesNotKnowIsRefused(t *testing.T) {
	for name, meant := range map[string]string{
		"LITEIO_BUCKETT":  "did you mean LITEIO_BUCKET?",
		"LITEIO_NO_SUCHH": "liteio --help",
	} {
		for _, format := range []string{"text", "json"} {
			_, err := liteio.Run(liteio.Environment(name, "photos"), liteio.Arguments("--log-format", format))
			if err == nil || !strings.HasPrefix(err.Error(), "Environment: "+name) || !strings.Contains(err.Error(), meant) {
				t.Errorf("%s, %s: the error is %v", name, format, err)
			}
		}
	}
}

// Of MinIO, where it has an effect.
func TestAVariableWithoutEffectIsPrinted(t *testing.T) {
	reader, writer, err := os.Pipe()
	need(t, err)
	defer func(before *os.File) { os.Stderr = before }(os.Stderr)
	os.Stderr = writer
	liteio.Start(t, liteio.Environment("MINIO_ETCD_ENDPOINTS", "http://127.0.0.1:1"))
	need(t, writer.Close())
	if told, err := io.ReadAll(reader); err != nil || !strings.Contains(string(told), "liteio: MINIO_ETCD_ENDPOINTS has no effect") {
		t.Errorf("%s, %v", told, err)
	}
}
