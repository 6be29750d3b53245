package liteio_test

import (
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
		{liteio.Arguments("--port", "9000"), "--port", "free port"},
		{liteio.Arguments("--address", "127.0.0.1:9000"), "--address", "free port"},
		{liteio.Environment("LITEIO_TLS_SELF_SIGNED", "true"), "LITEIO_TLS_SELF_SIGNED", "plain HTTP"},
		{liteio.Environment("LITEIO_ACCESS_KEY", "tester"), "LITEIO_ACCESS_KEY", "option Credentials"},
		{liteio.Environment("MINIO_ROOT_USER", "tester"), "MINIO_ROOT_USER", "option Credentials"},
		{liteio.Environment("LITEIO_REGION", "eu-west-1"), "LITEIO_REGION", "option Region"},
		{liteio.Environment("LITEIO_PORT", "9000"), "LITEIO_PORT", "free port"},
	} {
		// A binary that is not there: nothing is started.
		_, err := liteio.Run(row.option, liteio.Binary("/nowhere"))
		if err == nil || !strings.Contains(err.Error(), row.name+" is not possible") || !strings.Contains(err.Error(), row.instead) {
			t.Errorf("%s: the error is %v", row.name, err)
		}
	}
}
