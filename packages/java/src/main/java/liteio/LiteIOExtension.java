package liteio;

import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ExtensionContext.Store;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolutionException;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * Starts a server for a test class when a parameter first asks for it, and creates a space of it for each test. The
 * stores of JUnit close both: the space after the test, the server after the class. Of a test that fails, the end of
 * the server log goes to System.err.
 */
public final class LiteIOExtension implements ParameterResolver, AfterEachCallback {
    private static final Namespace NAMESPACE = Namespace.create(LiteIOExtension.class);

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        Class<?> type = parameter.getParameter().getType();
        return type == LiteIOServer.class || type == LiteIOSpace.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        LiteIOServer server = serverOf(context);
        if (parameter.getParameter().getType() == LiteIOServer.class) {
            return server;
        }
        if (context.getTestMethod().isEmpty()) {
            throw new ParameterResolutionException(
                    "a LiteIOSpace exists only for a test: constructors and @BeforeAll take a LiteIOServer");
        }
        Store store = context.getStore(NAMESPACE);
        return store.getOrComputeIfAbsent("space", key -> new Held<>(server.space()), Held.class).value;
    }

    @Override
    public void afterEach(ExtensionContext context) {
        Held<?> held = outermost(context).getStore(NAMESPACE).get("server", Held.class);
        if (held == null || context.getExecutionException().isEmpty()) {
            return;
        }
        String log = ((LiteIOServer) held.value).endOfLog();
        if (!log.isEmpty()) {
            System.err.println(context.getDisplayName() + " has failed. The end of the server log:\n" + log);
        }
    }

    private static LiteIOServer serverOf(ExtensionContext context) {
        ExtensionContext ofClass = outermost(context);
        Store store = ofClass.getStore(NAMESPACE);
        Object held = store.getOrComputeIfAbsent("server", key -> new Held<>(start(ofClass)), Held.class).value;
        return (LiteIOServer) held;
    }

    /** Nested classes use the server of the enclosing class. */
    private static ExtensionContext outermost(ExtensionContext context) {
        ExtensionContext found = context;
        for (Optional<ExtensionContext> each = Optional.of(context); each.isPresent(); each = each.get().getParent()) {
            if (each.get().getTestClass().isPresent()) {
                found = each.get();
            }
        }
        return found;
    }

    private static LiteIOServer start(ExtensionContext context) {
        LiteIOServer.Builder builder = LiteIOServer.builder();
        LiteIO options = context.getRequiredTestClass().getAnnotation(LiteIO.class);
        if (options != null) {
            builder.buckets(options.buckets()).arguments(options.arguments());
            if (!options.seed().isEmpty()) {
                builder.seed(Path.of(options.seed()));
            }
            if (!options.profile().isEmpty()) {
                builder.profile(options.profile());
            }
            if (!options.region().isEmpty()) {
                builder.region(options.region());
            }
        }
        return builder.start();
    }

    /** A resource that a store closes at its end. */
    @SuppressWarnings("deprecation") // Its successor exists only from JUnit 5.13 on.
    private static final class Held<T extends AutoCloseable> implements Store.CloseableResource, AutoCloseable {
        private final T value;

        Held(T value) {
            this.value = value;
        }

        @Override
        public void close() throws Exception {
            value.close();
        }
    }
}
