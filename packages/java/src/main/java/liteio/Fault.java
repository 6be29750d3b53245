package liteio;

/** A rule, active until it is closed. */
public final class Fault implements AutoCloseable {
    private final LiteIOSpace space;
    private final String id;
    private final String rule;
    private volatile Integer lastHits;

    Fault(LiteIOSpace space, String id, Rule rule) {
        this.space = space;
        this.id = id;
        this.rule = rule.toString();
    }

    public String id() {
        return id;
    }

    /** Number of requests that matched the rule, until it was removed by this process. */
    public int hits() {
        Integer hits = lastHits == null ? space.hits().get(id) : lastHits;
        if (hits == null) {
            throw new LiteIOException("the fault " + id + " is not in force any more", null);
        }
        return hits;
    }

    /** Keeps the last count, because the server forgets it with the rule. */
    void keepHits(Integer hits) {
        if (lastHits == null) {
            lastHits = hits;
        }
    }

    private void keepHits() {
        try {
            keepHits(space.hits().get(id));
        } catch (LiteIOException error) {
            // The removal meets it, too.
        }
    }

    /** Removes the rule, unless that has happened, such as by a reset. */
    public void remove() {
        close();
    }

    @Override
    public void close() {
        keepHits();
        space.control.delete("/faults/" + Control.segment(id), space.query());
    }

    @Override
    public String toString() {
        return "Fault " + id + " " + rule + " of " + space;
    }
}
