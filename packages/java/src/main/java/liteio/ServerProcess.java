package liteio;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
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
import java.util.stream.Collectors;

/**
 * The process of a server. It always ends with the process that started it.
 *
 * <p>The server runs under a small shell that holds the reading end of a pipe. The kernel closes the pipe when this process
 * has ended for any reason. Then the shell sends SIGTERM to the server. stop writes a line, which is the first SIGTERM, and
 * closes the pipe, which is the second: the server cuts off the requests in flight.
 */
final class ServerProcess {
    private static final Duration START_MAX = Duration.ofSeconds(30);
    private static final Duration STOP_MAX = Duration.ofSeconds(10);
    // Time for the requests in flight: those of a test that has ended wait for a client that does not read.
    private static final Duration IN_FLIGHT_MAX = Duration.ofSeconds(1);
    // What the server logs, and what that is in a test.
    private static final String CUT_OFF = "requests still in flight are cut off";
    private static final String OPEN_HINT =
            "requests were still open at the close, which waited a second for them: is the stream of an answer not closed?";
    private static final long READY_POLL_MS = 5;
    // Time for the shell to follow a server that has just closed its connections.
    private static final Duration END_MAX = Duration.ofSeconds(1);
    // The server writes the line about a request behind its answer.
    private static final long LOG_QUIET_MS = 50;
    private static final long LOG_QUIET_MS_MAX = 500;
    private static final int LOG_LINES_MAX = 1000;
    private static final int LOG_END_LINES = 20;
    // Such as of a variable with a wrong letter: nobody would look into the log for it.
    private static final Pattern WITHOUT_EFFECT = Pattern.compile(" WARN .* has no effect");
    private static final Pattern OF_TEST_API = Pattern.compile(" liteio::access: .* bucket=\"_liteio\"");
    // When a line was written, and how long the request took that it is about.
    private static final Pattern TIMES =
            Pattern.compile("^(\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z) (?:.* milliseconds=(\\d{1,12}))?");
    private static final Pattern ENDPOINT = Pattern.compile("^\\s*Endpoint\\s+(\\S+)");
    private static final String WATCH = String.join("\n",
            "exec 3<&0 </dev/null",
            "\"$@\" 3<&- &",
            "server=$!",
            "{ read -r _ && kill -s TERM \"$server\" && read -r _; kill -s TERM \"$server\"; } <&3 >/dev/null 2>&1 &",
            "watch=$!",
            "exec 3<&-",
            "wait \"$server\"",
            "code=$?",
            "kill \"$watch\" 2>/dev/null",
            "exit \"$code\"");

    private final Process process;
    private final Deque<String> log = new ArrayDeque<>();
    private long linesRead;
    private final Thread logReader;
    private final CompletableFuture<String> announced = new CompletableFuture<>();
    private final String endpoint;
    private volatile boolean closed;

    ServerProcess(List<String> command, Map<String, String> environment) {
        this(command, environment, START_MAX);
    }

    ServerProcess(List<String> command, Map<String, String> environment, Duration startMax) {
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
            endpoint = waitUntilReady(startMax);
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

    /** The last lines of the log; empty without any. */
    String endOfLog() {
        synchronized (log) {
            return log.stream().skip(Math.max(0, log.size() - LOG_END_LINES)).collect(Collectors.joining("\n"));
        }
    }

    /** The place in the log of what comes from now on. */
    LogPlace logPlace() {
        synchronized (log) {
            return new LogPlace(linesRead, System.currentTimeMillis());
        }
    }

    /** The last lines behind this place, once no more come; without requests to the test API. */
    String endOfQuietLog(LogPlace place) {
        synchronized (log) {
            awaitQuietLog();
            List<String> lines = log.stream()
                    .skip(Math.max(0, place.lines - (linesRead - log.size())))
                    .filter(line -> !place.isBefore(line) && !OF_TEST_API.matcher(line).find())
                    .collect(Collectors.toList());
            return String.join("\n", lines.subList(Math.max(0, lines.size() - LOG_END_LINES), lines.size()));
        }
    }

    /**
     * A place in the log. Lines about requests come behind their answers, and to wait for them would slow down each test: a line
     * that comes later, about what was before, is known by its time.
     */
    static final class LogPlace {
        static final LogPlace START = new LogPlace(0, 0);

        // Those that the log has had, also those that are no longer kept.
        private final long lines;
        private final long epochMillis;

        private LogPlace(long lines, long epochMillis) {
            this.lines = lines;
            this.epochMillis = epochMillis;
        }

        /** True for a line about what began before; false if it has no time. */
        private boolean isBefore(String line) {
            Matcher found = TIMES.matcher(line);
            if (!found.find()) {
                return false;
            }
            long took = found.group(2) == null ? 0 : Long.parseLong(found.group(2));
            return Instant.parse(found.group(1)).toEpochMilli() - took < epochMillis;
        }
    }

    /** Waits with the lock of the log. */
    private void awaitQuietLog() {
        long begun = System.nanoTime();
        try {
            long before;
            do {
                before = linesRead;
                log.wait(LOG_QUIET_MS);
            } while (linesRead != before && System.nanoTime() - begun < TimeUnit.MILLISECONDS.toNanos(LOG_QUIET_MS_MAX));
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Why a server does not answer: it was closed or has ended. Null if it should. */
    String ending() {
        if (closed) {
            return Control.CLOSED;
        }
        if (!waitFor(END_MAX)) {
            return null;
        }
        return ended();
    }

    /** True from the begin of stop on. */
    boolean isClosed() {
        return closed;
    }

    /** The process of the shell above the server. */
    ProcessHandle shell() {
        return process.toHandle();
    }

    void stop() {
        closed = true;
        List<ProcessHandle> below = new ArrayList<>();
        process.descendants().forEach(below::add);
        // Shut down cleanly even in an interrupted thread, such as after a test's timeout.
        boolean interrupted = Thread.interrupted();
        try (OutputStream pipe = process.getOutputStream()) {
            pipe.write('\n');
            pipe.flush();
            waitFor(IN_FLIGHT_MAX);
        } catch (IOException error) {
            // The pipe is already closed.
        }
        if (!waitFor(STOP_MAX)) {
            below.forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
            waitFor(STOP_MAX);
        }
        readLogToItsEnd();
        synchronized (log) {
            if (log.stream().anyMatch(line -> line.contains(CUT_OFF)) && !log.contains(OPEN_HINT)) {
                log.addLast(OPEN_HINT);
            }
        }
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

    private String waitUntilReady(Duration most) {
        long deadline = System.nanoTime() + most.toNanos();
        String found;
        try {
            found = announced.get(most.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new LiteIOException("the start was interrupted", interrupted);
        } catch (Exception late) {
            throw lateness(most, "it has printed no address");
        }
        if (found == null) {
            throw waitFor(END_MAX) ? new LiteIOException(ended(), null) : lateness(most, "it has closed its output");
        }
        Control control = new Control(found, () -> null, () -> false);
        for (String wrong = control.unready(most); wrong != null; wrong = control.unready(most)) {
            if (waitFor(Duration.ofMillis(READY_POLL_MS))) {
                throw new LiteIOException(ended(), null);
            }
            if (System.nanoTime() > deadline) {
                throw lateness(most, wrong);
            }
        }
        return found;
    }

    private LiteIOException lateness(Duration most, String wrong) {
        String message = "the server was not ready within " + most.toMillis() / 1000.0 + " s: " + wrong;
        return new LiteIOException(message + "\n" + said(), null);
    }

    private String ended() {
        readLogToItsEnd();
        return "the server has ended with exit code " + process.exitValue() + ": " + said();
    }

    private String said() {
        String end = endOfLog();
        return end.isEmpty() ? "no output" : end;
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
        if (WITHOUT_EFFECT.matcher(line).find()) {
            System.err.println(line);
        }
        synchronized (log) {
            log.addLast(line);
            linesRead++;
            log.notifyAll();
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
