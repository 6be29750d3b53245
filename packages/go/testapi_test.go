package liteio_test

import (
	"errors"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"liteio"
)

func start(t *testing.T) (*liteio.Server, *liteio.Space) {
	t.Helper()
	needsTestAPI(t)
	server := liteio.Start(t)
	space := server.Space(t)
	put(t, space, "/bucket", "")
	put(t, space, "/bucket/key", "body")
	return server, space
}

func TestSpacesSeeNothingOfEachOther(t *testing.T) {
	server, space := start(t)
	other, err := server.NewSpace("other")
	need(t, err)
	check(t, other, "/bucket", 404, "NoSuchBucket")
	check(t, server.Main(), "/bucket", 404, "NoSuchBucket")
	check(t, space, "/bucket/key", 200, "body")
	names, err := server.Spaces()
	need(t, err)
	if len(names) != 2 {
		t.Errorf("the spaces are %v", names)
	}
	if _, err := server.NewSpace("other"); err == nil {
		t.Error("a name is taken twice")
	}
	need(t, other.Delete())
	if err := server.Main().Delete(); err == nil {
		t.Error("the main space is deleted")
	}
}

func TestANegativeNumberIsRefusedByItsName(t *testing.T) {
	_, space := start(t)
	bytes := int64(-5)
	for name, rule := range map[string]liteio.Rule{
		"Status": {Status: -5}, "LatencyMS": {LatencyMS: -5}, "Bandwidth": {Bandwidth: -5}, "Times": {Times: -5},
		"CutAfterBytes": {CutAfterBytes: &bytes},
	} {
		_, err := space.NewFault(rule)
		if err == nil || err.Error() != "Rule: "+name+" is not negative, but -5" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAWaitForMoreSaysHowManyThereWere(t *testing.T) {
	_, space := start(t)
	_, err := space.WaitForEvents(liteio.EventFilter{Bucket: "bucket"}, 2, 50*time.Millisecond)
	if !errors.Is(err, liteio.ErrTimeout) || !strings.Contains(err.Error(), "1 of 2 came") || strings.Contains(err.Error(), "nothing") {
		t.Error(err)
	}
}

func TestASpaceEndsWithItsTest(t *testing.T) {
	server, _ := start(t)
	t.Run("inner", func(t *testing.T) { server.Space(t) })
	names, err := server.Spaces()
	need(t, err)
	if len(names) != 1 {
		t.Errorf("the spaces are %v", names)
	}
}

func TestASpaceMayEndBeforeItsTest(t *testing.T) {
	server, _ := start(t)
	t.Run("deleted", func(t *testing.T) { need(t, server.Space(t).Delete()) })
	t.Run("server stopped", func(t *testing.T) {
		stopped := liteio.Start(t)
		stopped.Space(t)
		stopped.Stop()
	})
}

func TestReset(t *testing.T) {
	server, space := start(t)
	put(t, server.Main(), "/bucket", "")
	need(t, space.Reset())
	check(t, space, "/bucket", 404, "NoSuchBucket")
	check(t, server.Main(), "/bucket", 200, "")
	need(t, server.Reset())
	check(t, server.Main(), "/bucket", 404, "NoSuchBucket")
	given := liteio.Start(t, liteio.Buckets("given"))
	put(t, given.Main(), "/given/key", "body")
	need(t, given.Reset())
	check(t, given.Main(), "/given/key", 404, "NoSuchKey")
}

func TestSnapshots(t *testing.T) {
	_, space := start(t)
	need(t, space.Snapshot("one-object"))
	put(t, space, "/bucket/after", "body")
	need(t, space.Restore("one-object"))
	check(t, space, "/bucket/after", 404, "NoSuchKey")
	check(t, space, "/bucket/key", 200, "body")
	names, err := space.Snapshots()
	need(t, err)
	if !reflect.DeepEqual(names, []string{"one-object"}) {
		t.Errorf("the snapshots are %v", names)
	}
	need(t, space.DeleteSnapshot("one-object"))
	var refused *liteio.Error
	if err := space.Restore("one-object"); !errors.As(err, &refused) || refused.Status != 404 {
		t.Errorf("the error is %v", err)
	}
}

func TestAFaultIsInForceAsOftenAsItSays(t *testing.T) {
	_, space := start(t)
	fault := space.Fault(t, liteio.Rule{
		Operation: "GetObject", Bucket: "bu*", Key: "k?y", Status: 503, Code: "SlowDown", Message: "slower", Times: 2,
	})
	check(t, space, "/bucket/key", 503, "slower")
	check(t, space, "/bucket/key", 503, "SlowDown")
	check(t, space, "/bucket/key", 200, "body")
	if hits, err := fault.Hits(); hits != 2 || err != nil {
		t.Errorf("%d hits, %v", hits, err)
	}
	need(t, fault.Remove())
	need(t, fault.Remove())
	if _, err := fault.Hits(); err == nil {
		t.Error("a rule that was removed has hits")
	}
}

func TestAFaultEndsWithItsTest(t *testing.T) {
	_, space := start(t)
	t.Run("inner", func(t *testing.T) {
		space.Fault(t, liteio.Rule{Status: 500})
		check(t, space, "/bucket/key", 500, "")
	})
	check(t, space, "/bucket/key", 200, "body")
	_, err := space.NewFault(liteio.Rule{Status: 500})
	need(t, err)
	need(t, space.ClearFaults())
	check(t, space, "/bucket/key", 200, "body")
}

func TestAnswersAreCutAndSlow(t *testing.T) {
	_, space := start(t)
	bytes := int64(2)
	cut := space.Fault(t, liteio.Rule{Operation: "GetObject", CutAfterBytes: &bytes})
	if got, text := send(t, space, "GET", "/bucket/key", ""); got != 0 || !strings.Contains(text, "EOF") {
		t.Errorf("%d %s is not cut", got, text)
	}
	need(t, cut.Remove())
	space.Fault(t, liteio.Rule{LatencyMS: 100})
	before := time.Now()
	check(t, space, "/bucket/key", 200, "body")
	if passed := time.Since(before); passed < 100*time.Millisecond {
		t.Errorf("it took %v", passed)
	}
}

func TestAFaultThatMakesNoSenseIsRefused(t *testing.T) {
	_, space := start(t)
	for _, rule := range []liteio.Rule{{}, {Operation: "GetObject"}, {Status: 200}} {
		var refused *liteio.Error
		if _, err := space.NewFault(rule); !errors.As(err, &refused) || refused.Status != 400 {
			t.Errorf("%v: the error is %v", rule, err)
		}
	}
}

func TestPresignedURLsExpireByTheClock(t *testing.T) {
	_, space := start(t)
	target := presign(space, "/bucket/key")
	if got := status(t, target); got != 200 {
		t.Fatalf("it answers %d", got)
	}
	_, err := space.AdvanceClock(2 * time.Hour)
	need(t, err)
	if got := status(t, target); got != 403 {
		t.Errorf("two hours later it answers %d", got)
	}
	_, err = space.ResetClock()
	need(t, err)
	if got := status(t, target); got != 200 {
		t.Errorf("later it answers %d", got)
	}
}

func TestTheClockIsSet(t *testing.T) {
	_, space := start(t)
	moment := time.Date(2040, 2, 29, 12, 0, 0, 500_000_000, time.UTC)
	set, err := space.SetClock(moment)
	need(t, err)
	now, err := space.Now()
	need(t, err)
	if set.Before(moment) || now.Before(set) || now.Sub(moment) > 20*time.Second {
		t.Errorf("it was set to %v and is at %v", set, now)
	}
}

func TestRequestsAreRecorded(t *testing.T) {
	_, space := start(t)
	_, err := space.WaitForRequest(liteio.RequestFilter{}, 2, 10*time.Second)
	need(t, err)
	requests, err := space.Requests(liteio.RequestFilter{Operation: "PutObject", Key: "k*"})
	need(t, err)
	if len(requests) != 1 || requests[0].Key != "key" || requests[0].Status != 200 || requests[0].BytesIn != 4 {
		t.Fatalf("the requests are %+v", requests)
	}
	if age := time.Since(requests[0].Time); age < -time.Minute || age > 5*time.Minute {
		t.Errorf("it is %v old", age)
	}
	need(t, space.ClearRequests())
	requests, err = space.Requests(liteio.RequestFilter{})
	if len(requests) != 0 || err != nil {
		t.Errorf("the requests are %+v, %v", requests, err)
	}
}

func TestRequestsAndEventsAreWaitedFor(t *testing.T) {
	_, space := start(t)
	request := sign(t, space, "PUT", "/bucket/late", "12345")
	done := make(chan error)
	go func() {
		response, err := newClient().Do(request)
		if err == nil {
			response.Body.Close()
		}
		done <- err
	}()
	requests, err := space.WaitForRequest(liteio.RequestFilter{Operation: "PutObject", Key: "late"}, 1, 10*time.Second)
	need(t, err)
	events, err := space.WaitForEvent(liteio.EventFilter{Name: "s3:ObjectCreated:*", Key: "late"}, 10*time.Second)
	need(t, err)
	need(t, <-done)
	if requests[0].Method != "PUT" || events[0].Bucket != "bucket" || events[0].Size != 5 {
		t.Errorf("%+v %+v", requests, events)
	}
	if _, err := space.WaitForEvent(liteio.EventFilter{Key: "never"}, 50*time.Millisecond); !errors.Is(err, liteio.ErrTimeout) {
		t.Errorf("the error is %v", err)
	}
	_, err = space.WaitForRequest(liteio.RequestFilter{Key: "never"}, 1, 50*time.Millisecond)
	if !errors.Is(err, liteio.ErrTimeout) || !strings.Contains(err.Error(), "key=never") {
		t.Errorf("the error is %v", err)
	}
	put(t, space, "/bucket/later", "12345")
	events, err = space.WaitForEvents(liteio.EventFilter{Key: "late*"}, 2, 10*time.Second)
	if err != nil || len(events) != 2 {
		t.Errorf("%+v, %v", events, err)
	}
}

func TestATimeoutHasTheFilterAndWhatWasSeen(t *testing.T) {
	_, space := start(t)
	_, err := space.WaitForRequest(liteio.RequestFilter{}, 2, 10*time.Second)
	need(t, err)
	// An operation that does not come.
	filter := liteio.RequestFilter{Operation: "DeleteObject", Key: "a/*"}
	_, err = space.WaitForRequest(filter, 1, 50*time.Millisecond)
	for _, part := range []string{"count=1 key=a/* operation=DeleteObject", "0 of 1 came", "CreateBucket, PutObject"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the error is %v, without %s", err, part)
		}
	}
	_, err = space.WaitForEvent(liteio.EventFilter{Name: "s3:ObjectRemoved:*"}, 50*time.Millisecond)
	for _, part := range []string{"name=s3:ObjectRemoved:*", "The last events are: s3:ObjectCreated:Put bucket/key"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the error is %v, without %s", err, part)
		}
	}
	need(t, space.Reset())
	_, err = space.WaitForEvent(liteio.EventFilter{}, 50*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "The last events are: none") {
		t.Errorf("the error is %v", err)
	}
}

func TestAWaitForAClientWithOtherKeysNamesTheMainSpace(t *testing.T) {
	server, _ := start(t)
	unused := server.Space(t)
	there := "This space has none, the main space, where a client without the keys of this space gets, has "
	_, err := unused.WaitForRequest(liteio.RequestFilter{}, 1, 50*time.Millisecond)
	if err == nil || strings.Contains(err.Error(), there) {
		t.Errorf("the error is %v", err)
	}
	put(t, server.Main(), "/bucket", "")
	_, err = server.Main().WaitForRequest(liteio.RequestFilter{Operation: "CreateBucket"}, 1, 10*time.Second)
	need(t, err)
	_, err = unused.WaitForRequest(liteio.RequestFilter{}, 1, 50*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), there+"1. ") {
		t.Errorf("the error is %v", err)
	}
}

func TestSinceIsTheFirstNumberThatMatches(t *testing.T) {
	_, space := start(t)
	filter := liteio.EventFilter{Name: "s3:ObjectCreated:*"}
	first, err := space.WaitForEvent(filter, 10*time.Second)
	need(t, err)
	put(t, space, "/bucket/next", "body")
	for since, keys := range map[int64]int{first[0].Sequence: 2, first[0].Sequence + 1: 1} {
		filter.Since = since
		events, err := space.WaitForEvents(filter, keys, 10*time.Second)
		if err != nil || len(events) != keys || events[keys-1].Key != "next" {
			t.Errorf("%d: %+v, %v", since, events, err)
		}
	}
}

func TestAMistypedOperationIsRefusedAtOnce(t *testing.T) {
	_, space := start(t)
	_, err := space.WaitForRequest(liteio.RequestFilter{Operation: "PutObjct"}, 1, time.Minute)
	if err == nil || !strings.Contains(err.Error(), `did you mean "PutObject"?`) {
		t.Errorf("the error is %v", err)
	}
}

func TestAWaitThatEndsNamesTheUsersOfItsFilter(t *testing.T) {
	_, space := start(t)
	_, err := space.WaitForRequest(liteio.RequestFilter{User: space.AccessKey}, 2, 10*time.Second)
	need(t, err)
	_, err = space.WaitForRequest(liteio.RequestFilter{User: "nobody"}, 1, time.Millisecond)
	users := "; their users are: " + space.AccessKey
	if !errors.Is(err, liteio.ErrTimeout) || !strings.HasSuffix(err.Error(), users) {
		t.Errorf("the error is %v", err)
	}
	_, err = space.WaitForRequest(liteio.RequestFilter{Key: "none"}, 1, time.Millisecond)
	if err == nil || strings.Contains(err.Error(), "users") {
		t.Errorf("the error is %v", err)
	}
}

func TestARefusedRequestIsNamed(t *testing.T) {
	_, space := start(t)
	target := presign(space, "/bucket/key")
	_, err := space.AdvanceClock(2 * time.Hour)
	need(t, err)
	if code := status(t, target); code != 403 {
		t.Errorf("the status is %d", code)
	}
	_, err = space.WaitForRequest(liteio.RequestFilter{Operation: "GetObject", Status: "403"}, 1, 10*time.Second)
	if err != nil {
		t.Error(err)
	}
}

func TestAnUnknownOperationOfARefusedRequestIsTold(t *testing.T) {
	_, space := start(t)
	// Of S3 Tables the operation is not known before the request is authenticated.
	request, err := http.NewRequest("GET", space.Endpoint+"/buckets", nil)
	need(t, err)
	request.Header.Set("Authorization",
		"AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/s3tables/aws4_request, SignedHeaders=host, Signature=x")
	request.Header.Set("X-Liteio-Space", space.Name)
	response, err := http.DefaultClient.Do(request)
	need(t, err)
	need(t, response.Body.Close())
	_, err = space.WaitForRequest(liteio.RequestFilter{Status: "4??"}, 1, 10*time.Second)
	need(t, err)
	_, err = space.WaitForRequest(liteio.RequestFilter{Key: "none"}, 1, time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "GET (refused before its operation was known)") {
		t.Errorf("the error is %v", err)
	}
}

func TestTheVariablesAreSetForATest(t *testing.T) {
	_, space := start(t)
	t.Run("inner", func(t *testing.T) {
		space.Setenv(t)
		if os.Getenv("AWS_ACCESS_KEY_ID") != space.AccessKey || os.Getenv("AWS_ENDPOINT_URL_S3") != space.Endpoint {
			t.Error("they are not those of the space")
		}
		host := strings.TrimPrefix(space.Endpoint, "http://")
		if local := os.Getenv("MC_HOST_local"); local != "http://"+space.AccessKey+":"+space.SecretKey+"@"+host {
			t.Errorf("local of the client is %s", local)
		}
	})
	if os.Getenv("AWS_ACCESS_KEY_ID") == space.AccessKey {
		t.Error("they are not put back")
	}
}
