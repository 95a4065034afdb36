FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=unknown
RUN make build VERSION="$VERSION"

# Nothing but the program: no shell, no user data, nothing to write to.
FROM scratch
COPY --from=build /src/bin/serve-web /serve-web
USER 65532:65532
HEALTHCHECK --interval=30s --timeout=3s --start-period=2s CMD ["/serve-web", "--health"]
ENTRYPOINT ["/serve-web"]
CMD ["/workspace"]
