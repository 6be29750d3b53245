package liteio;

import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * Flags and variables of the server that the builder sets by itself. A second value would have no effect, or the
 * object would not know of it.
 */
final class Reserved {
    private static final String CREDENTIALS = "use LiteIOServer.builder().credentials(…)";
    private static final String REGION = "use region(…)";
    private static final String PORT = "use LiteIOServer.builder().port(…): a server listens on 127.0.0.1 only";
    private static final String DATA = "use LiteIOServer.builder().dataDir(…): without it everything is in memory";
    private static final String TLS = "liteio-junit speaks plain HTTP only; run `liteio --tls-self-signed` yourself";

    private static final Map<String, String> FLAGS = new HashMap<>();
    private static final Map<String, String> VARIABLES = new HashMap<>();

    static {
        List.of("--access-key", "--secret-key", "--credentials-file").forEach(each -> FLAGS.put(each, CREDENTIALS));
        FLAGS.put("--region", REGION);
        List.of("--address", "--host", "--port", "-p").forEach(each -> FLAGS.put(each, PORT));
        List.of("--data-dir", "-d", "--memory").forEach(each -> FLAGS.put(each, DATA));

        for (String name : List.of("LITEIO_ACCESS_KEY", "LITEIO_SECRET_KEY", "MINIO_ACCESS_KEY", "MINIO_SECRET_KEY",
                "MINIO_ROOT_USER", "MINIO_ROOT_PASSWORD", "LITEIO_CREDENTIALS")) {
            VARIABLES.put(name, CREDENTIALS);
            VARIABLES.put(name + "_FILE", CREDENTIALS);
        }
        List.of("LITEIO_REGION", "MINIO_REGION", "MINIO_SITE_REGION", "MINIO_REGION_NAME")
                .forEach(each -> VARIABLES.put(each, REGION));
        List.of("LITEIO_ADDRESS", "LITEIO_HOST", "LITEIO_PORT", "MINIO_ADDRESS", "MINIO_API_PORT_NUMBER")
                .forEach(each -> VARIABLES.put(each, PORT));
        List.of("LITEIO_DATA_DIR", "LITEIO_MEMORY", "LITEIO_IN_MEMORY", "LITEIO_DRIVER")
                .forEach(each -> VARIABLES.put(each, DATA));
    }

    /** Flags that the builder sets, with their methods. */
    private static final Map<String, String> METHODS =
            Map.of("--bucket", "buckets(…)", "--seed", "seed(…)", "--profile", "profile(…)");

    /** Variables of other programs, and of files, whose place the flag of the buckets takes. */
    private static final List<String> OF_BUCKETS = List.of("LITEIO_BUCKET_FILE", "MINIO_DEFAULT_BUCKETS", "initialBuckets",
            "COM_ADOBE_TESTING_S3MOCK_STORE_INITIAL_BUCKETS", "COM_ADOBE_TESTING_S3MOCK_DOMAIN_INITIAL_BUCKETS");

    /** Those that only the profile of S3Mock reads. */
    private static final Set<String> OF_S3MOCK = Set.of("initialBuckets", "COM_ADOBE_TESTING_S3MOCK_STORE_INITIAL_BUCKETS",
            "COM_ADOBE_TESTING_S3MOCK_DOMAIN_INITIAL_BUCKETS");

    private Reserved() {}

    /** Refuses variables of S3Mock without its profile: the server would start without the buckets. */
    static void checkProfile(Set<String> variables, String profile) {
        if (!"s3mock".equals(profile)) {
            variables.stream().filter(OF_S3MOCK::contains).findFirst().ifPresent(variable -> {
                throw new IllegalArgumentException(variable + " has an effect with profile(\"s3mock\") only: use buckets(…)");
            });
        }
    }

    /** Refuses a variable beside the flag that takes its place. */
    static void checkEffect(String variable, List<String> command) {
        String flag = OF_BUCKETS.contains(variable) ? "--bucket"
                : variable.startsWith("LITEIO_")
                        ? "--" + variable.substring("LITEIO_".length()).toLowerCase(Locale.ROOT).replace('_', '-')
                        : null;
        if (command.stream().anyMatch(argument -> argument.split("=", 2)[0].equals(flag))) {
            throw new IllegalArgumentException(variable + " has no effect beside "
                    + METHODS.getOrDefault(flag, flag + " of arguments(…)") + ": give one of them");
        }
    }

    static void checkArgument(String argument) {
        String flag = argument.split("=", 2)[0];
        if (flag.matches("-[dp].+")) {
            flag = flag.substring(0, 2);
        }
        check(flag, flag.startsWith("--tls-") ? TLS : FLAGS.get(flag));
    }

    static void checkVariable(String name) {
        check(name, name.startsWith("LITEIO_TLS_") ? TLS : VARIABLES.get(name));
    }

    private static void check(String name, String instead) {
        if (instead != null) {
            throw new IllegalArgumentException(name + " is not possible here: " + instead);
        }
    }
}
