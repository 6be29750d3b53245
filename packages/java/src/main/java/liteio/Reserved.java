package liteio;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

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

    private Reserved() {}

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
