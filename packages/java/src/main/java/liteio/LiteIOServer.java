package liteio;

import com.google.gson.JsonObject;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * A server and its main space: one in its own process, which ends when it is closed or when this process ends, or by
 * {@code connect} one that runs already.
 */
public final class LiteIOServer extends LiteIOSpace {
    private static final String DEFAULT_ACCESS_KEY = "liteio";
    private static final String DEFAULT_SECRET_KEY = "liteio123";
    private static final String DEFAULT_REGION = "us-east-1";
    private static final List<String> FOREIGN = List.of("LITEIO_", "MINIO_", "AWS_", "COM_ADOBE_");

    // Null for a server that others have started.
    private final ServerProcess process;

    private LiteIOServer(ServerProcess process, Builder builder) {
        super(new Control(process.endpoint(), process::ending, process::isClosed), null, process.endpoint(), builder.accessKey,
                builder.secretKey, builder.region == null ? DEFAULT_REGION : builder.region);
        this.process = process;
    }

    private LiteIOServer(String endpoint, String accessKey, String secretKey, String region) {
        super(new Control(endpoint, () -> null, () -> false), null, endpoint, accessKey, secretKey, region);
        process = null;
    }

    /**
     * The server of {@code liteio exec}, by the variables that it sets: LITEIO_ENDPOINT, AWS_ACCESS_KEY_ID,
     * AWS_SECRET_ACCESS_KEY and AWS_REGION.
     *
     * @throws IllegalArgumentException without LITEIO_ENDPOINT
     */
    public static LiteIOServer connect() {
        return connect(System.getenv());
    }

    static LiteIOServer connect(Map<String, String> variables) {
        String endpoint = variables.getOrDefault("LITEIO_ENDPOINT", "");
        if (endpoint.isEmpty()) {
            throw new IllegalArgumentException(
                    "connect() needs LITEIO_ENDPOINT, as `liteio exec` sets it: or give it the endpoint and the keys");
        }
        return new LiteIOServer(originOf(endpoint), variables.getOrDefault("AWS_ACCESS_KEY_ID", DEFAULT_ACCESS_KEY),
                variables.getOrDefault("AWS_SECRET_ACCESS_KEY", DEFAULT_SECRET_KEY), regionOf(variables));
    }

    /**
     * A server that runs already, such as that of a container or of a service in CI, with the keys of its root user and
     * the region AWS_REGION, or us-east-1. {@code close()} leaves it running, and its log is empty. Faults, clock, requests
     * and spaces need its test API: {@code --test-api} on this machine, {@code --test-api=any} (LITEIO_TEST_API=any) in a
     * container.
     *
     * @param endpoint a URL such as http://127.0.0.1:9000
     */
    public static LiteIOServer connect(String endpoint, String accessKey, String secretKey) {
        return new LiteIOServer(originOf(Objects.requireNonNull(endpoint, "the endpoint is null")),
                Objects.requireNonNull(accessKey, "the access key is null"),
                Objects.requireNonNull(secretKey, "the secret key is null"), regionOf(System.getenv()));
    }

    /** The endpoint without a path. */
    private static String originOf(String endpoint) {
        try {
            URI given = new URI(endpoint);
            if (given.getHost() != null && ("http".equals(given.getScheme()) || "https".equals(given.getScheme()))) {
                return given.getScheme() + "://" + given.getAuthority();
            }
        } catch (URISyntaxException error) {
            // Told below.
        }
        throw new IllegalArgumentException("the endpoint " + endpoint + " is no URL such as http://127.0.0.1:9000");
    }

    private static String regionOf(Map<String, String> variables) {
        return variables.getOrDefault("AWS_REGION", DEFAULT_REGION);
    }

    /** Options of a server. */
    public static Builder builder() {
        return new Builder();
    }

    /** A server in memory. */
    public static LiteIOServer start() {
        return builder().start();
    }

    /**
     * Last lines of the server log: warnings, unless `arguments("--log", "debug")` asks for more, such as the reasons
     * why requests are refused. Empty for a server that runs already.
     */
    public String log() {
        return process == null ? "" : process.log();
    }

    /** The place in the log of what comes from now on. */
    ServerProcess.LogPlace logPlace() {
        return process.logPlace();
    }

    /** The end of the log behind this place, without requests to the test API, once no more lines come. */
    String endOfLog(ServerProcess.LogPlace place) {
        return process.endOfQuietLog(place);
    }

    /** Creates a space, isolated from the others. */
    public LiteIOSpace space() {
        return make(Map.of());
    }

    /** Creates a space of this name. */
    public LiteIOSpace space(String name) {
        return make(Map.of("name", Objects.requireNonNull(name, "the name is null")));
    }

    /** Names of all spaces except the main one. */
    public List<String> spaces() {
        return Json.list(control.call("GET", "/spaces", Map.of(), null), "spaces", each -> Json.text(each, "name"));
    }

    /** Shuts the server down and waits for it, if this process has started it. */
    @Override
    public void close() {
        if (process != null) {
            process.stop();
        }
    }

    @Override
    public String toString() {
        return "LiteIOServer at " + endpoint();
    }

    private LiteIOSpace make(Map<String, String> body) {
        JsonObject made = control.call("POST", "/spaces", Map.of(), body);
        return new LiteIOSpace(control, Json.text(made, "name"), endpoint().toString(), Json.text(made, "access_key"),
                Json.text(made, "secret_key"), region());
    }

    ProcessHandle shell() {
        return process.shell();
    }

    /** Options of a server; by default it keeps everything in memory. */
    public static final class Builder {
        private final List<String> buckets = new ArrayList<>();
        private final List<String> arguments = new ArrayList<>();
        private final Map<String, String> environment = new HashMap<>();
        private Path binary;
        private Path dataDir;
        private Path seed;
        private String profile;
        private String accessKey;
        private String secretKey;
        private String region;
        private int port;

        private Builder() {}

        /** Path of the server binary; default: LITEIO_BINARY, the jar of this platform, or PATH. */
        public Builder binary(Path path) {
            binary = path;
            return this;
        }

        /** Directory for the data; default: in memory. */
        public Builder dataDir(Path path) {
            dataDir = path;
            return this;
        }

        /** Buckets created at start, each NAME[:public|download|upload][:versioned|locked]. */
        public Builder buckets(String... names) {
            for (String each : names) {
                buckets.add(notEmpty("the name of a bucket", each));
            }
            return this;
        }

        /**
         * A directory or an archive whose directories become buckets, such as src/test/resources/seed.
         *
         * @throws IllegalArgumentException for a resource of the class path
         */
        public Builder seed(Path path) {
            Reserved.checkSeed(path);
            seed = path;
            return this;
        }

        /** "minio", "localstack" or "s3mock". */
        public Builder profile(String name) {
            profile = Objects.requireNonNull(name, "the profile is null");
            return this;
        }

        public Builder credentials(String accessKey, String secretKey) {
            this.accessKey = notEmpty("the access key", accessKey);
            this.secretKey = notEmpty("the secret key", secretKey);
            return this;
        }

        /** A text that is there: the server takes an empty one for a setting that is not given. */
        private static String notEmpty(String what, String value) {
            if (Objects.requireNonNull(value, what + " is null").isEmpty()) {
                throw new IllegalArgumentException(what + " is empty");
            }
            return value;
        }

        /** The only region that the server accepts; default: any is, and clients get us-east-1. */
        public Builder region(String name) {
            region = Objects.requireNonNull(name, "the region is null");
            return this;
        }

        /** Port of 127.0.0.1; default: 0, a free one. */
        public Builder port(int number) {
            if (number < 0 || number > 65535) {
                throw new IllegalArgumentException("a port is a number from 0 to 65535, not " + number);
            }
            port = number;
            return this;
        }

        /**
         * Additional flags of `liteio server`.
         *
         * @throws IllegalArgumentException for a flag that has a method here, and for TLS
         */
        public Builder arguments(String... more) {
            for (String each : more) {
                Reserved.checkArgument(Objects.requireNonNull(each, "an argument is null"));
                arguments.add(each);
            }
            return this;
        }

        /**
         * Adds a variable of the server, which does not inherit LITEIO_…, MINIO_… and AWS_… of this process.
         *
         * @throws IllegalArgumentException for a variable that has a method here, and for TLS
         */
        public Builder environment(String name, String value) {
            Reserved.checkVariable(Objects.requireNonNull(name, "the name of the variable is null"));
            environment.put(name, Objects.requireNonNull(value, "the value of the variable " + name + " is null"));
            return this;
        }

        public LiteIOServer start() {
            if (accessKey == null) {
                boolean minio = "minio".equals(profile);
                accessKey = minio ? "minioadmin" : DEFAULT_ACCESS_KEY;
                secretKey = minio ? "minioadmin" : DEFAULT_SECRET_KEY;
            }
            Binary found = Binary.find(binary, System.getenv());
            List<String> command = command(found.path());
            environment.keySet().forEach(name -> Reserved.checkEffect(name, command));
            Reserved.checkProfile(environment.keySet(), profile == null ? environment.get("LITEIO_PROFILE") : profile);
            try {
                return new LiteIOServer(new ServerProcess(command, variables()), this);
            } catch (LiteIOException error) {
                throw new LiteIOException(error.getMessage() + help(error.getMessage())
                        + "\nThe command was: " + String.join(" ", command) + " (from " + found.source() + ")", error.getCause());
            }
        }

        /** What the message of the program says in its own flags. */
        private static String help(String message) {
            return message.contains("cannot listen on ") ? "\nIn Java: port(0) takes a free one" : "";
        }

        private List<String> command(Path program) {
            List<String> command = new ArrayList<>();
            command.addAll(List.of(program.toString(), "server", "--address", "127.0.0.1:" + port));
            if (region != null) {
                command.addAll(List.of("--region", region));
            }
            command.addAll(dataDir == null ? List.of("--memory") : List.of("--data-dir", dataDir.toString()));
            buckets.forEach(bucket -> command.addAll(List.of("--bucket", bucket)));
            if (seed != null) {
                command.addAll(List.of("--seed", seed.toString()));
            }
            if (profile != null) {
                command.addAll(List.of("--profile", profile));
            }
            command.addAll(arguments);
            return command;
        }

        private Map<String, String> variables() {
            Map<String, String> variables = new HashMap<>(System.getenv());
            variables.keySet().removeIf(name -> FOREIGN.stream().anyMatch(name::startsWith));
            variables.put("LITEIO_ACCESS_KEY", accessKey);
            variables.put("LITEIO_SECRET_KEY", secretKey);
            variables.put("LITEIO_LOG", "warn");
            variables.put("LITEIO_TEST_API", "local");
            variables.putAll(environment);
            return variables;
        }
    }
}
