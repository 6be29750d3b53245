package liteio;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * Flags and variables of the server that the builder sets by itself, and other values that are refused here. A second value
 * would have no effect, or the object would not know of it.
 */
final class Reserved {
    private static final String CREDENTIALS = "use LiteIOServer.builder().credentials(…)";
    private static final String REGION = "use region(…)";
    private static final String PORT = "use LiteIOServer.builder().port(…): a server listens on 127.0.0.1 only";
    private static final String DATA = "use LiteIOServer.builder().dataDir(…): without it everything is in memory";
    private static final String TLS = "liteio-junit speaks plain HTTP only; run `liteio --tls-self-signed` yourself";

    private static final String HELP = "the program would print a text and end; run `liteio server --help` in a shell";

    private static final Map<String, String> FLAGS = new HashMap<>();
    private static final Map<String, String> VARIABLES = new HashMap<>();

    static {
        List.of("--access-key", "--secret-key", "--credentials-file").forEach(each -> FLAGS.put(each, CREDENTIALS));
        FLAGS.put("--region", REGION);
        List.of("--address", "--host", "--port", "-p").forEach(each -> FLAGS.put(each, PORT));
        List.of("--data-dir", "-d", "--memory").forEach(each -> FLAGS.put(each, DATA));

        List.of("--help", "-h", "--version", "-V").forEach(each -> FLAGS.put(each, HELP));

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
        // As in a shell, which divides it.
        String[] parts = flag.split("\\s+", 2);
        if (flag.startsWith("-") && parts.length == 2) {
            throw new IllegalArgumentException("the flag and its value are two arguments: arguments(\"" + parts[0] + "\", \""
                    + argument.substring(argument.length() - parts[1].length()) + "\")");
        }
    }

    static void checkVariable(String name) {
        check(name, name.startsWith("LITEIO_TLS_") ? TLS : VARIABLES.get(name));
    }

    /** Refuses a resource in the place of a path. */
    static void checkSeed(Path path) {
        String text = String.valueOf(path);
        if (text.startsWith("classpath:")) {
            throw new IllegalArgumentException("seed is a path from the directory of the module, not " + text
                    + ": give src/test/resources/" + text.substring("classpath:".length()).replaceFirst("^/+", ""));
        }
    }

    /** The name of an operation; refused as that of a class of the SDK. */
    static String operation(String pattern) {
        if (pattern != null && pattern.endsWith("Request") && pattern.length() > "Request".length()) {
            String name = pattern.substring(0, pattern.length() - "Request".length());
            throw new IllegalArgumentException("operation(…) is no class of the SDK: give \"" + name + "\" for " + pattern);
        }
        return pattern;
    }

    private static void check(String name, String instead) {
        if (instead != null) {
            throw new IllegalArgumentException(name + " is not possible here: " + instead);
        }
    }
}
