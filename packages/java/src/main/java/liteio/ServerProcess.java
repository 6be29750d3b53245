package liteio;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The process of a server. It always ends with the process that started it.
 *
 * <p>The server runs under a small shell that holds the reading end of a pipe. Nothing is ever written to the pipe.
 * stop closes it, or the kernel does when this process has ended for any reason. Then the shell sends SIGTERM to the
 * server.
 */
final class ServerProcess {
    private static final Duration START_MAX = Duration.ofSeconds(30);
    private static final Duration STOP_MAX = Duration.ofSeconds(10);
    private static final long READY_POLL_MS = 5;
    private static final int LOG_LINES_MAX = 1000;
    private static final Pattern ENDPOINT = Pattern.compile("^\\s*Endpoint\\s+(\\S+)");
    private static final String WATCH = String.join("\n",
            "exec 3<&0 </dev/null",
            "\"$@\" 3<&- &",
            "server=$!",
            "{ read -r _ <&3; kill -s TERM \"$server\"; } >/dev/null 2>&1 &",
            "watch=$!",
            "exec 3<&-",
            "wait \"$server\"",
            "code=$?",
            "kill \"$watch\" 2>/dev/null",
            "exit \"$code\"");

    private final Process process;
    private final Deque<String> log = new ArrayDeque<>();
    private final Thread logReader;
    private final CompletableFuture<String> announced = new CompletableFuture<>();
    private final String endpoint;

    ServerProcess(List<String> command, Map<String, String> environment) {
        List<String> watched = new ArrayList<>(List.of("/bin/sh", "-c", WATCH, "liteio"));
        watched.addAll(command);
        ProcessBuilder builder = new ProcessBuilder(watched);
        builder.environment().clear();
        builder.environment().putAll(environment);
        try {
            process = builder.start();
        } catch (IOException error) {
            throw new LiteIOException("the server cannot be started: " + error.getMessage(), error);
        }
        read("liteio-start", process.getInputStream(), this::readStart, () -> announced.complete(null));
        logReader = read("liteio-log", process.getErrorStream(), this::readLog, () -> {});
        try {
            endpoint = waitUntilReady();
        } catch (RuntimeException error) {
            stop();
            throw error;
        }
    }

    String endpoint() {
        return endpoint;
    }

    String log() {
        synchronized (log) {
            return String.join("\n", log);
        }
    }

    /** The process of the shell above the server. */
    ProcessHandle shell() {
        return process.toHandle();
    }

    void stop() {
        List<ProcessHandle> below = new ArrayList<>();
        process.descendants().forEach(below::add);
        try {
            process.getOutputStream().close();
        } catch (IOException error) {
            // The pipe is already closed.
        }
        // Shut down cleanly even in an interrupted thread, such as after a test's timeout.
        boolean interrupted = Thread.interrupted();
        if (!waitFor(STOP_MAX)) {
            below.forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
            waitFor(STOP_MAX);
        }
        readLogToItsEnd();
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private boolean waitFor(Duration most) {
        try {
            return process.waitFor(most.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private String waitUntilReady() {
        String found;
        try {
            found = announced.get(START_MAX.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new LiteIOException("the start was interrupted", interrupted);
        } catch (Exception late) {
            throw new LiteIOException("the server was not ready within " + START_MAX.toSeconds() + " s: " + log(), late);
        }
        if (found == null) {
            throw failure();
        }
        Control control = new Control(found);
        long deadline = System.nanoTime() + START_MAX.toNanos();
        while (!control.isReady()) {
            if (waitFor(Duration.ofMillis(READY_POLL_MS)) || System.nanoTime() > deadline) {
                throw failure();
            }
        }
        return found;
    }

    private LiteIOException failure() {
        String end = waitFor(Duration.ofSeconds(1)) ? "has ended with exit code " + process.exitValue() : "is not ready";
        readLogToItsEnd();
        return new LiteIOException("the server " + end + ": " + (log().isEmpty() ? "no output" : log()), null);
    }

    private void readLogToItsEnd() {
        try {
            logReader.join(1000);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void readStart(String line) {
        Matcher found = ENDPOINT.matcher(line);
        if (found.find()) {
            announced.complete(found.group(1));
        }
    }

    private void readLog(String line) {
        synchronized (log) {
            log.addLast(line);
            if (log.size() > LOG_LINES_MAX) {
                log.removeFirst();
            }
        }
    }

    private static Thread read(String name, InputStream stream, Consumer<String> take, Runnable atEnd) {
        Thread reader = new Thread(() -> {
            try (BufferedReader lines = new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8))) {
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    take.accept(line);
                }
            } catch (IOException closed) {
                // The server is gone.
            } finally {
                atEnd.run();
            }
        }, name);
        reader.setDaemon(true);
        reader.start();
        return reader;
    }
}
