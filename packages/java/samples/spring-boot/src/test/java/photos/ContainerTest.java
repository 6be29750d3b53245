package photos;

import static org.junit.jupiter.api.Assertions.assertEquals;

import liteio.testcontainers.LiteIOContainer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.test.annotation.DirtiesContext;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;
import org.testcontainers.junit.jupiter.Container;
import org.testcontainers.junit.jupiter.Testcontainers;

@EnabledIfEnvironmentVariable(named = "LITEIO_IMAGE", matches = ".+")
@SpringBootTest
@Testcontainers
@DirtiesContext
class ContainerTest {
    static final String IMAGE = System.getenv().getOrDefault("LITEIO_IMAGE", "liteio:0.1.0");

    @Container
    static final LiteIOContainer LITEIO = new LiteIOContainer(IMAGE).withBuckets("photos");

    @DynamicPropertySource
    static void storage(DynamicPropertyRegistry registry) {
        registry.add("spring.cloud.aws.endpoint", LITEIO::getS3URL);
        registry.add("spring.cloud.aws.region.static", LITEIO::getRegion);
        registry.add("spring.cloud.aws.credentials.access-key", LITEIO::getUserName);
        registry.add("spring.cloud.aws.credentials.secret-key", LITEIO::getPassword);
        registry.add("spring.cloud.aws.s3.path-style-access-enabled", () -> true);
    }

    @Test
    void aPhotoIsStored(@Autowired Photos photos) {
        photos.store("a.jpg", "picture");
        assertEquals("picture", photos.read("a.jpg"));
    }
}
