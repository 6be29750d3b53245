package photos;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.awspring.cloud.autoconfigure.core.AwsConnectionDetails;
import java.net.URI;
import liteio.LiteIOServer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.TestConfiguration;
import org.springframework.context.annotation.Bean;

@SpringBootTest(properties = "spring.cloud.aws.s3.path-style-access-enabled=true")
class ConnectionTest {
    @TestConfiguration(proxyBeanMethods = false)
    static class Storage {
        /** Spring closes the server with the context, which tests share. */
        @Bean
        LiteIOServer server() {
            return LiteIOServer.builder().buckets("photos").start();
        }

        @Bean
        AwsConnectionDetails connection(LiteIOServer server) {
            return new AwsConnectionDetails() {
                @Override
                public URI getEndpoint() {
                    return server.endpoint();
                }

                @Override
                public String getRegion() {
                    return server.region();
                }

                @Override
                public String getAccessKey() {
                    return server.accessKey();
                }

                @Override
                public String getSecretKey() {
                    return server.secretKey();
                }
            };
        }
    }

    @BeforeEach
    void empty(@Autowired LiteIOServer server) {
        server.reset();
    }

    @Test
    void aPhotoIsStored(@Autowired Photos photos) {
        photos.store("a.jpg", "picture");
        assertEquals("picture", photos.read("a.jpg"));
    }
}
