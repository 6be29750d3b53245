package liteio;

import java.lang.reflect.Field;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ExtensionContext.Store;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolutionException;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.jupiter.api.extension.TestInstances;
import org.junit.platform.commons.support.AnnotationSupport;

/**
 * Starts a server for a test class when a parameter first asks for it, and creates a space of it for each test. The
 * stores of JUnit close both: the space after the test, the server after the class. Of a test that fails, the end of
 * the server log since its start goes to System.err.
 */
public final class LiteIOExtension implements ParameterResolver, BeforeEachCallback, AfterEachCallback {
    private static final Namespace NAMESPACE = Namespace.create(LiteIOExtension.class);

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return isOurs(parameter.getParameter().getType());
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
    public void beforeEach(ExtensionContext context) {
        LiteIOServer server = startedServerOf(context);
        if (server != null) {
            context.getStore(NAMESPACE).put("log", server.logPlace());
        }
    }

    @Override
    public void afterEach(ExtensionContext context) {
        context.getExecutionException().ifPresent(failure -> tellOfFields(context.getRequiredTestInstances(), failure));
        LiteIOServer server = startedServerOf(context);
        if (server == null || context.getExecutionException().isEmpty()) {
            return;
        }
        // A server that this test has started has no lines of other tests.
        String log = server.endOfLog(
                context.getStore(NAMESPACE).getOrDefault("log", ServerProcess.LogPlace.class, ServerProcess.LogPlace.START));
        if (!log.isEmpty()) {
            System.err.println(context.getRequiredTestClass().getName() + ": " + context.getDisplayName()
                    + " has failed. The end of the server log:\n" + log);
        }
    }

    /** Adds to the failure by a null that fields are not set here, also inherited ones and those of the classes around. */
    private static void tellOfFields(TestInstances tests, Throwable failure) {
        if (!(failure instanceof NullPointerException)) {
            return;
        }
        Set<Field> told = new HashSet<>();
        for (Object test : tests.getAllInstances()) {
            for (Class<?> type = test.getClass(); type != null; type = type.getSuperclass()) {
                for (Field field : type.getDeclaredFields()) {
                    if (isOurs(field.getType()) && isNull(field, test) && told.add(field)) {
                        failure.addSuppressed(new IllegalStateException(
                                "@LiteIO sets no fields: give the test or @BeforeEach a parameter " + field.getType().getSimpleName()
                                        + ", and there set " + field.getName()));
                    }
                }
            }
        }
    }

    private static boolean isNull(Field field, Object test) {
        try {
            return field.trySetAccessible() && field.get(test) == null;
        } catch (IllegalAccessException error) {
            return false;
        }
    }

    private static boolean isOurs(Class<?> type) {
        return type == LiteIOServer.class || type == LiteIOSpace.class;
    }

    /** The server of a test; null if nothing has asked for it yet, and after a start that has failed. */
    private static LiteIOServer startedServerOf(ExtensionContext context) {
        ExtensionContext ofClass = owner(context);
        // The store throws the failure of a start again: the test would have it twice.
        Store store = ofClass.getStore(NAMESPACE);
        Class<?> type = ofClass.getRequiredTestClass();
        return store.get(startedKey(type)) == null ? null : (LiteIOServer) store.get(type, Held.class).value;
    }

    private static LiteIOServer serverOf(ExtensionContext context) {
        ExtensionContext ofClass = owner(context);
        Class<?> type = ofClass.getRequiredTestClass();
        // The key has the class, because a store also has what those of the classes around it have.
        Object held = ofClass.getStore(NAMESPACE)
                .getOrComputeIfAbsent(type, key -> new Held<>(start(optionsOf(type))), Held.class).value;
        ofClass.getStore(NAMESPACE).put(startedKey(type), true);
        return (LiteIOServer) held;
    }

    private static String startedKey(Class<?> type) {
        return "started " + type.getName();
    }

    /**
     * The class that has the server: the innermost one with options, or the one around it that has the same options. Without
     * options, as by `@ExtendWith` alone, it is the outermost class.
     */
    private static ExtensionContext owner(ExtensionContext context) {
        ExtensionContext found = null;
        LiteIO options = null;
        for (Optional<ExtensionContext> each = Optional.of(context); each.isPresent(); each = each.get().getParent()) {
            if (each.get().getTestClass().isEmpty()) {
                continue;
            }
            LiteIO own = optionsOf(each.get().getRequiredTestClass());
            if (options != null && own != null && !own.equals(options)) {
                return found;
            }
            if (options == null || own != null) {
                found = each.get();
                options = own;
            }
        }
        return found;
    }

    /** The annotation of a class, its superclasses, interfaces and annotations; null without one. */
    private static LiteIO optionsOf(Class<?> type) {
        return AnnotationSupport.findAnnotation(type, LiteIO.class).orElse(null);
    }

    private static LiteIOServer start(LiteIO options) {
        LiteIOServer.Builder builder = LiteIOServer.builder();
        if (options == null) {
            return builder.start();
        }
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
        return builder.start();
    }

    /** A resource that a store closes at its end. */
    @SuppressWarnings("deprecation") // Its successor exists only from JUnit 5.13 on.
    private static final class Held<T extends LiteIOSpace> implements Store.CloseableResource, AutoCloseable {
        private final T value;

        Held(T value) {
            this.value = value;
        }

        @Override
        public void close() {
            value.close();
        }
    }
}
