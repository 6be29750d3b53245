package liteio.testcontainers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

/** Options of the module for Testcontainers, without a container. */
class LiteIOContainerOptionsTest {
    private static final String IMAGE = "liteio:0.1.0";

    @Test
    void bucketsOfS3MockAreRefused() {
        try (LiteIOContainer container = new LiteIOContainer(IMAGE).withEnv("initialBuckets", "photos")) {
            String said = assertThrows(IllegalArgumentException.class, container::configure).getMessage();
            assertEquals("initialBuckets of S3Mock has no effect here: use withBuckets(…)", said);
        }
    }

    @Test
    void bucketsOfAllCallsAreCreated() {
        try (LiteIOContainer container = new LiteIOContainer(IMAGE).withBuckets("photos").withBuckets("letters:versioned", "notes")) {
            container.configure();
            assertEquals("photos,letters:versioned,notes", container.getEnvMap().get("LITEIO_BUCKET"));
        }
    }

    @Test
    void aPasswordThatIsTooShortIsRefused() {
        try (LiteIOContainer container = new LiteIOContainer(IMAGE).withPassword("test")) {
            String said = assertThrows(IllegalArgumentException.class, container::configure).getMessage();
            assertEquals("the password has at least 8 characters, not 4", said);
        }
    }

    @Test
    void theEndpointIsAnAddressForWhichTheSdkHasBucketsInThePath() {
        try (LiteIOContainer container = new At("localhost"); LiteIOContainer elsewhere = new At("docker.example.com")) {
            assertEquals("http://127.0.0.1:32768", container.getS3URL());
            assertEquals("http://docker.example.com:32768", elsewhere.getS3URL());
        }
    }

    /** A container whose port is published at this host. */
    private static final class At extends LiteIOContainer {
        private final String host;

        At(String host) {
            super(IMAGE);
            this.host = host;
        }

        @Override
        public String getHost() {
            return host;
        }

        @Override
        public Integer getMappedPort(int port) {
            return 32768;
        }
    }
}
