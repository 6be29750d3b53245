package liteio;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** Finds the server binary: the given path, LITEIO_BINARY, or `liteio` on PATH. */
final class Binary {
    private Binary() {}

    static Path find(Path given, Map<String, String> environment) {
        String named = environment.get("LITEIO_BINARY");
        if (given != null) {
            return checked(given, "binary");
        }
        if (named != null && !named.isEmpty()) {
            return checked(Path.of(named), "LITEIO_BINARY");
        }
        for (String directory : environment.getOrDefault("PATH", "").split(File.pathSeparator)) {
            Path candidate = Path.of(directory, "liteio");
            if (isProgram(candidate) && !isScript(candidate)) {
                return candidate.toAbsolutePath();
            }
        }
        throw new LiteIOException(
                "the LiteIO binary was not found: set LITEIO_BINARY to its path, or put the program "
                        + "`liteio` on PATH",
                null);
    }

    private static Path checked(Path path, String source) {
        if (!isProgram(path)) {
            throw new LiteIOException(source + ": " + path + " is not an executable file", null);
        }
        return path.toAbsolutePath();
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
