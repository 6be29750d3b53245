package liteio

import "strings"

// Option is an option of a server.
type Option func(*settings)

type settings struct {
	binary, dataDir, seed, profile, accessKey, secretKey, region string
	buckets, arguments                                           []string
	environment                                                  map[string]string
}

// Binary names the server's binary.
func Binary(path string) Option { return func(s *settings) { s.binary = path } }

// DataDir names a directory for the data, which are in memory without it.
func DataDir(path string) Option { return func(s *settings) { s.dataDir = path } }

// Buckets are made at the start, each NAME[:public|download|upload][:versioned].
func Buckets(buckets ...string) Option {
	return func(s *settings) { s.buckets = append(s.buckets, buckets...) }
}

// Seed names a directory or an archive whose directories become buckets.
func Seed(path string) Option { return func(s *settings) { s.seed = path } }

// Profile takes the place of "minio", "localstack" or "s3mock".
func Profile(name string) Option { return func(s *settings) { s.profile = name } }

// Credentials are those of the root user; liteio and liteio123 without it.
func Credentials(accessKey, secretKey string) Option {
	return func(s *settings) { s.accessKey, s.secretKey = accessKey, secretKey }
}

// Region is that which requests are signed for; us-east-1 without it.
func Region(name string) Option { return func(s *settings) { s.region = name } }

// Arguments are more flags of `liteio server`.
func Arguments(arguments ...string) Option {
	return func(s *settings) { s.arguments = append(s.arguments, arguments...) }
}

// Environment gives the server a variable. Variables LITEIO_…, MINIO_… and AWS_… of this process are not handed on.
func Environment(name, value string) Option {
	return func(s *settings) { s.environment[name] = value }
}

func (s *settings) complete() {
	if s.accessKey != "" {
		return
	}
	s.accessKey, s.secretKey = "liteio", "liteio123"
	if s.profile == "minio" {
		s.accessKey, s.secretKey = "minioadmin", "minioadmin"
	}
}

func (s *settings) command() []string {
	command := []string{"server", "--address", "127.0.0.1:0", "--region", s.region}
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
	// The last one of a name counts.
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
