package liteio;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** Finds the server binary: the given path, LITEIO_BINARY, the jar of this platform, or `liteio` on PATH, in this order. */
final class Binary {
    private static final String CLASSIFIER =
            PackagedBinary.classifier(System.getProperty("os.name"), System.getProperty("os.arch"));

    private static Path packaged;

    private final Path path;
    private final String source;

    private Binary(Path path, String source) {
        this.path = path.toAbsolutePath();
        this.source = source;
    }

    Path path() {
        return path;
    }

    /** What named it, for messages. */
    String source() {
        return source;
    }

    static Binary find(Path given, Map<String, String> environment) {
        String named = environment.get("LITEIO_BINARY");
        if (given != null) {
            return checked(given, "binary(…)");
        }
        if (named != null && !named.isEmpty()) {
            return checked(Path.of(named), "LITEIO_BINARY");
        }
        Path extracted = packaged(environment);
        if (extracted != null) {
            return new Binary(extracted, "the jar of " + CLASSIFIER);
        }
        for (String directory : environment.getOrDefault("PATH", "").split(File.pathSeparator)) {
            Path candidate = Path.of(directory, "liteio");
            if (isProgram(candidate) && !isScript(candidate)) {
                return new Binary(candidate, "PATH");
            }
        }
        throw new LiteIOException(
                "the LiteIO binary was not found: add the jar of liteio-junit with the classifier " + CLASSIFIER
                        + " (docs/java.md lists those that exist; on Windows use WSL), set LITEIO_BINARY to its path, or put "
                        + "the program `liteio` on PATH",
                null);
    }

    /** The binary of the jar, which a JVM verifies once. */
    private static synchronized Path packaged(Map<String, String> environment) {
        if (packaged == null || !isProgram(packaged)) {
            packaged = new PackagedBinary(Binary.class.getClassLoader(), CLASSIFIER).extract(environment);
        }
        return packaged;
    }

    private static Binary checked(Path path, String source) {
        if (!isProgram(path)) {
            // Below a build of several modules, a relative path is one of the module.
            String found = path.isAbsolute() ? "" : " (" + path.toAbsolutePath() + "): give an absolute path";
            throw new LiteIOException(source + ": " + path + " is not an executable file" + found, null);
        }
        return new Binary(path, source);
    }

    private static boolean isProgram(Path path) {
        return Files.isRegularFile(path) && Files.isExecutable(path);
    }

    /** A script of this name is the command of a package for another language, which would search again. */
    private static boolean isScript(Path path) {
        try (InputStream file = Files.newInputStream(path)) {
            return file.read() == '#' && file.read() == '!';
        } catch (IOException error) {
            return true;
        }
    }
}
