package photos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import liteio.Fault;
import liteio.Filter;
import liteio.LiteIOServer;
import liteio.LiteIOSpace;
import liteio.Rule;
import org.junit.jupiter.api.Test;

class FaultsTest {
    @Test
    void aRuleEndsWithItsBlock() {
        try (LiteIOServer server = LiteIOServer.builder().buckets("photos").start();
                LiteIOSpace space = server.space()) {
            // Two of three answers to reads are cut off after 10 bytes, until the rule is closed.
            try (Fault fault = space.fault(Rule.of().operation("GetObject").cutAfterBytes(10).probability(0.66))) {
                assertEquals(0, fault.hits());
            }
            space.snapshot("empty");
            space.clock().advance(Duration.ofDays(30));
            space.restore("empty");
            assertTrue(space.requests(Filter.of().bucket("photos")).isEmpty());
            space.reset();
        }
    }
}
