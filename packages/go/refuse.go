package liteio

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

const (
	byCredentials = "use the option Credentials"
	byRegion      = "use the option Region"
	byPort        = "use the option Port: the server always listens on 127.0.0.1, by default on a free port, which Endpoint has"
	byDataDir     = "use the option DataDir, without which the data are in memory"
	byItself      = "the server would print its help and end: run `liteio server --help` in a shell"
	plainHTTP     = "a server of this package speaks plain HTTP: for HTTPS start `liteio server` as a command"
)

// What the package sets by itself. A second value would have no effect, or the package would not know of it.
var (
	flagsTaken = map[string]string{
		"--access-key": byCredentials, "--secret-key": byCredentials, "--region": byRegion,
		"--credentials-file": byCredentials, "--data-dir": byDataDir, "-d": byDataDir, "--memory": byDataDir,
		"--address": byPort, "--port": byPort, "-p": byPort, "--host": byPort, "--help": byItself, "-h": byItself,
	}
	variablesTaken = map[string]string{
		"LITEIO_ACCESS_KEY": byCredentials, "LITEIO_ACCESS_KEY_FILE": byCredentials,
		"LITEIO_SECRET_KEY": byCredentials, "LITEIO_SECRET_KEY_FILE": byCredentials,
		"MINIO_ROOT_USER": byCredentials, "MINIO_ROOT_USER_FILE": byCredentials,
		"MINIO_ROOT_PASSWORD": byCredentials, "MINIO_ROOT_PASSWORD_FILE": byCredentials,
		"MINIO_ACCESS_KEY": byCredentials, "MINIO_ACCESS_KEY_FILE": byCredentials,
		"MINIO_SECRET_KEY": byCredentials, "MINIO_SECRET_KEY_FILE": byCredentials,
		"LITEIO_REGION": byRegion, "MINIO_REGION": byRegion, "MINIO_SITE_REGION": byRegion, "MINIO_REGION_NAME": byRegion,
		"LITEIO_CREDENTIALS_FILE": byCredentials, "LITEIO_DATA_DIR": byDataDir, "LITEIO_MEMORY": byDataDir,
		"LITEIO_IN_MEMORY": byDataDir,
		"LITEIO_ADDRESS":   byPort, "LITEIO_PORT": byPort, "LITEIO_HOST": byPort,
		"MINIO_ADDRESS": byPort, "MINIO_API_PORT_NUMBER": byPort, "GATEWAY_LISTEN": byPort, "EDGE_PORT": byPort,
	}
)

// optionsOf has the options whose flags take the place of a variable.
var optionsOf = map[string]string{
	"LITEIO_BUCKET": "Buckets", "MINIO_DEFAULT_BUCKETS": "Buckets", "initialBuckets": "Buckets",
	"COM_ADOBE_TESTING_S3MOCK_STORE_INITIAL_BUCKETS":  "Buckets",
	"COM_ADOBE_TESTING_S3MOCK_DOMAIN_INITIAL_BUCKETS": "Buckets",
	"LITEIO_SEED": "Seed", "LITEIO_PROFILE": "Profile",
}

// inOptions has what the server says about settings of the package in the words of its options.
var inOptions = strings.NewReplacer(
	"LITEIO_ACCESS_KEY", "Credentials", "LITEIO_SECRET_KEY", "Credentials", "--address HOST:PORT", "the option Port",
	"--memory and --data-dir (LITEIO_DATA_DIR) contradict each other: remove one of them", "Arguments has a directory: "+byDataDir,
)

// refuse returns an error for an empty text, and for the first argument or variable that the package sets by itself, or that is
// none.
func (s *settings) refuse() error {
	if s.hasCredentials && (s.accessKey == "" || s.secretKey == "") {
		return errors.New("Credentials: the access key and the secret key must not be empty")
	}
	if len(s.empty) > 0 {
		return fmt.Errorf("%s is given an empty text, as of a variable that is not set: leave the option out for its default", s.empty[0])
	}
	if s.port < 0 || s.port > 65_535 {
		return fmt.Errorf("Port: %d is no port", s.port)
	}
	isValue := false
	for _, argument := range s.arguments {
		if !strings.HasPrefix(argument, "-") && !isValue {
			return fmt.Errorf("Arguments: %q is neither a flag nor the value of one: the command is always "+
				"`liteio server`, and a directory is the option DataDir", argument)
		}
		if flag, value, isPair := strings.Cut(argument, " "); isPair && strings.HasPrefix(flag, "--") && !strings.Contains(flag, "=") {
			return fmt.Errorf("Arguments: %q is a flag and its value in one: give two arguments, %q and %q", argument, flag, value)
		}
		flag, isBare := flagOf(argument)
		isValue = isBare
		instead := flagsTaken[flag]
		if strings.HasPrefix(flag, "--tls-") {
			instead = plainHTTP
		}
		if instead != "" {
			return fmt.Errorf("Arguments: %s is not possible here: %s", flag, instead)
		}
	}
	for name := range s.environment {
		if name == "" || strings.Contains(name, "=") {
			return fmt.Errorf("Environment: %q is no name of a variable: the name and the value are two arguments", name)
		}
		instead := variablesTaken[name]
		if strings.HasPrefix(name, "LITEIO_TLS_") {
			instead = plainHTTP
		}
		if instead != "" {
			return fmt.Errorf("Environment: %s is not possible here: %s", name, instead)
		}
		if flag := s.flagBeside(name); flag != "" {
			return fmt.Errorf("Environment: %s has no effect beside %s: give one of them", name, flag)
		}
	}
	return nil
}

// flagBeside returns the flag that takes the place of a variable, in the words of the option that gives it.
func (s *settings) flagBeside(variable string) string {
	option := optionsOf[strings.TrimSuffix(variable, "_FILE")]
	isGiven := map[string]bool{"Buckets": len(s.buckets) > 0, "Seed": s.seed != "", "Profile": s.profile != ""}
	if isGiven[option] {
		return "the option " + option
	}
	name, isSetting := strings.CutPrefix(variable, "LITEIO_")
	wanted := "--" + strings.ToLower(strings.ReplaceAll(name, "_", "-"))
	isWanted := func(argument string) bool {
		flag, _ := flagOf(argument)
		return flag == wanted
	}
	if isSetting && slices.ContainsFunc(s.arguments, isWanted) {
		return wanted + " of the option Arguments"
	}
	return ""
}

// flagOf returns the name of a flag without its value, which --port=1 and -p1 have, and whether it is the whole argument. Its value is
// then the next one, if it takes one.
func flagOf(argument string) (name string, isBare bool) {
	name = argument
	if strings.HasPrefix(argument, "--") {
		name, _, _ = strings.Cut(argument, "=")
	} else if len(argument) > 2 {
		name = argument[:2]
	}
	return name, strings.HasPrefix(argument, "-") && name == argument
}
