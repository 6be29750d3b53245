package photos

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"liteio"
)

// clockSigner signs URLs with the time of a space.
type clockSigner struct {
	*v4.Signer
	space *liteio.Space
}

func (s clockSigner) PresignHTTP(
	ctx context.Context, keys aws.Credentials, request *http.Request, payloadHash, service, region string, _ time.Time,
	options ...func(*v4.SignerOptions),
) (string, http.Header, error) {
	now, err := s.space.Now()
	if err != nil {
		return "", nil, err
	}
	return s.Signer.PresignHTTP(ctx, keys, request, payloadHash, service, region, now, options...)
}

func newPresignClient(space *liteio.Space) *s3.PresignClient {
	// S3 escapes the path of a URL once.
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
	return s3.NewPresignClient(newClient(space), func(o *s3.PresignOptions) { o.Presigner = clockSigner{signer, space} })
}

func TestAnUploadLinkIsGoodForAnHour(t *testing.T) {
	t.Parallel()
	space := server.Space(t)
	if _, err := space.AdvanceClock(30 * 24 * time.Hour); err != nil {
		t.Fatal(err)
	}
	link, err := newPresignClient(space).PresignPutObject(context.Background(), &s3.PutObjectInput{
		Bucket: aws.String("photos"), Key: aws.String("2026/my photo.jpg"),
	}, s3.WithPresignExpires(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		later  time.Duration
		status int
	}{{0, http.StatusOK}, {2 * time.Hour, http.StatusForbidden}} {
		if _, err := space.AdvanceClock(step.later); err != nil {
			t.Fatal(err)
		}
		request, err := http.NewRequest(link.Method, link.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != step.status {
			t.Errorf("after %v: %s", step.later, answer.Status)
		}
	}
}
