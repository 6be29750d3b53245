package liteio

import (
	"fmt"
	"strings"
)

// Option is an option of a server.
type Option func(*settings)

type settings struct {
	binary, dataDir, seed, profile, accessKey, secretKey, region string
	hasCredentials                                               bool
	port                                                         int
	buckets, arguments                                           []string
	environment                                                  map[string]string
	// empty has the options that were given an empty text.
	empty []string
}

// Binary sets the path of the server binary.
func Binary(path string) Option { return func(s *settings) { s.binary = path } }

// DataDir sets a directory for the data. Without it they are in memory.
func DataDir(path string) Option {
	return func(s *settings) { s.dataDir = s.notEmpty("DataDir", path) }
}

// Buckets creates buckets at start, each NAME[:public|download|upload][:versioned|locked].
func Buckets(buckets ...string) Option {
	return func(s *settings) {
		for _, bucket := range buckets {
			s.buckets = append(s.buckets, s.notEmpty("Buckets", bucket))
		}
	}
}

// Seed sets a directory or an archive whose directories become buckets.
func Seed(path string) Option { return func(s *settings) { s.seed = s.notEmpty("Seed", path) } }

// Profile selects the profile "minio", "localstack" or "s3mock". Of several the last counts.
func Profile(name string) Option {
	return func(s *settings) { s.profile = s.notEmpty("Profile", name) }
}

// Credentials sets the keys of the root user. The default is liteio and liteio123.
func Credentials(accessKey, secretKey string) Option {
	return func(s *settings) { s.accessKey, s.secretKey, s.hasCredentials = accessKey, secretKey, true }
}

// Region sets the only region that the server accepts. By default it accepts any, and clients get us-east-1.
func Region(name string) Option { return func(s *settings) { s.region = s.notEmpty("Region", name) } }

// Port sets the port of 127.0.0.1, for code with an address in it. The default is a free port: two servers cannot share one, and
// `go test` runs packages beside each other.
func Port(port int) Option { return func(s *settings) { s.port = port } }

// Arguments adds flags of `liteio server`, except those of credentials, region, data directory, address and TLS. A flag and its value are
// two arguments, or one with =.
func Arguments(arguments ...string) Option {
	return func(s *settings) { s.arguments = append(s.arguments, arguments...) }
}

// Environment adds a variable of the server, which does not inherit LITEIO_…, MINIO_… and AWS_… of this process. Those of
// credentials, region, data directory, address and TLS are refused, and so is a variable LITEIO_… that the server does not know, or that
// has no effect beside another option.
func Environment(name, value string) Option {
	return func(s *settings) { s.environment[name] = value }
}

// notEmpty returns the text, and notes an empty one, which refuse refuses: an empty directory would be data in memory.
func (s *settings) notEmpty(option, text string) string {
	if text == "" {
		s.empty = append(s.empty, option)
	}
	return text
}

func (s *settings) complete() {
	if s.hasCredentials {
		return
	}
	s.accessKey, s.secretKey = "liteio", "liteio123"
	if s.profile == "minio" {
		s.accessKey, s.secretKey = "minioadmin", "minioadmin"
	}
}

func (s *settings) command() []string {
	command := []string{"server", "--address", fmt.Sprintf("127.0.0.1:%d", s.port)}
	if s.region != "" {
		command = append(command, "--region", s.region)
	}
	if s.dataDir == "" {
		command = append(command, "--memory")
	} else {
		command = append(command, "--data-dir", s.dataDir)
	}
	for _, bucket := range s.buckets {
		command = append(command, "--bucket", bucket)
	}
	if s.seed != "" {
		command = append(command, "--seed", s.seed)
	}
	if s.profile != "" {
		command = append(command, "--profile", s.profile)
	}
	return append(command, s.arguments...)
}

func (s *settings) variables(inherited []string) []string {
	variables := []string{}
	for _, variable := range inherited {
		if !isSetting(variable) {
			variables = append(variables, variable)
		}
	}
	variables = append(variables,
		"LITEIO_ACCESS_KEY="+s.accessKey,
		"LITEIO_SECRET_KEY="+s.secretKey,
		"LITEIO_LOG=warn",
		"LITEIO_TEST_API=local",
	)
	// The last variable of a name counts.
	for name, value := range s.environment {
		variables = append(variables, name+"="+value)
	}
	return variables
}

func isSetting(variable string) bool {
	for _, prefix := range []string{"LITEIO_", "MINIO_", "AWS_", "COM_ADOBE_"} {
		if strings.HasPrefix(variable, prefix) {
			return true
		}
	}
	return false
}
