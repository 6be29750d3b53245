package liteio

import (
	"errors"
	"fmt"
	"strings"
)

const (
	byCredentials = "use the option Credentials"
	byRegion      = "use the option Region"
	freePort      = "the server always listens on a free port of 127.0.0.1, which Endpoint has"
	plainHTTP     = "a server of this package speaks plain HTTP: for HTTPS start `liteio server` as a command"
)

// What the package sets by itself. A second value would have no effect, or the package would not know of it.
var (
	flagsTaken = map[string]string{
		"--access-key": byCredentials, "--secret-key": byCredentials, "--region": byRegion,
		"--address": freePort, "--port": freePort, "-p": freePort, "--host": freePort,
	}
	variablesTaken = map[string]string{
		"LITEIO_ACCESS_KEY": byCredentials, "LITEIO_ACCESS_KEY_FILE": byCredentials,
		"LITEIO_SECRET_KEY": byCredentials, "LITEIO_SECRET_KEY_FILE": byCredentials,
		"MINIO_ROOT_USER": byCredentials, "MINIO_ROOT_USER_FILE": byCredentials,
		"MINIO_ROOT_PASSWORD": byCredentials, "MINIO_ROOT_PASSWORD_FILE": byCredentials,
		"MINIO_ACCESS_KEY": byCredentials, "MINIO_ACCESS_KEY_FILE": byCredentials,
		"MINIO_SECRET_KEY": byCredentials, "MINIO_SECRET_KEY_FILE": byCredentials,
		"LITEIO_REGION": byRegion, "MINIO_REGION": byRegion, "MINIO_SITE_REGION": byRegion, "MINIO_REGION_NAME": byRegion,
		"LITEIO_ADDRESS": freePort, "LITEIO_PORT": freePort, "LITEIO_HOST": freePort,
		"MINIO_ADDRESS": freePort, "MINIO_API_PORT_NUMBER": freePort, "GATEWAY_LISTEN": freePort, "EDGE_PORT": freePort,
	}
)

// refuse returns an error for empty credentials, and for the first argument or variable that the package sets by itself.
func (s *settings) refuse() error {
	if s.hasCredentials && (s.accessKey == "" || s.secretKey == "") {
		return errors.New("Credentials: the access key and the secret key must not be empty")
	}
	for _, argument := range s.arguments {
		flag, _, _ := strings.Cut(argument, "=")
		instead := flagsTaken[flag]
		if strings.HasPrefix(flag, "--tls-") {
			instead = plainHTTP
		}
		if instead != "" {
			return fmt.Errorf("Arguments: %s is not possible here: %s", flag, instead)
		}
	}
	for name := range s.environment {
		instead := variablesTaken[name]
		if strings.HasPrefix(name, "LITEIO_TLS_") {
			instead = plainHTTP
		}
		if instead != "" {
			return fmt.Errorf("Environment: %s is not possible here: %s", name, instead)
		}
	}
	return nil
}
