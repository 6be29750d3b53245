package photos;

import static org.junit.jupiter.api.Assertions.assertTrue;

import liteio.Filter;
import liteio.LiteIOServer;
import liteio.LiteIOSpace;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

class RunningTest {
    static final LiteIOServer SERVER =
            System.getenv("LITEIO_ENDPOINT") == null ? LiteIOServer.start() : LiteIOServer.connect();

    @AfterAll
    static void close() {
        SERVER.close();
    }

    @Test
    void aSpaceHasNoRequestsOfOthers() {
        try (LiteIOSpace space = SERVER.space()) {
            assertTrue(space.requests(Filter.of()).isEmpty());
        }
    }
}
