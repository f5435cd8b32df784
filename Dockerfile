# Two images:
#
#	docker build -t deskhand .                         the program alone, on nothing
#	docker build -t deskhand-agents --target agents .  with git, Node.js and coding agents, for tasks
#
# Both run as a user without rights and with a read-only root: only
# /var/lib/deskhand, the state, and /tmp are written.

FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
ARG COMMIT=
ARG DATE=
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false \
	-ldflags "-s -w -X main.version=$VERSION -X main.commit=$COMMIT -X main.date=$DATE" \
	-o /root-of-image/usr/bin/deskhand ./cmd/deskhand
RUN cd /root-of-image && mkdir -p etc/ssl/certs tmp var/lib/deskhand docs && \
	cp /etc/ssl/certs/ca-certificates.crt etc/ssl/certs/ && \
	echo 'deskhand:x:65532:65532::/var/lib/deskhand:/sbin/nologin' >etc/passwd && \
	echo 'deskhand:x:65532:' >etc/group && \
	chmod 1777 tmp && chown 65532:65532 var/lib/deskhand

FROM node:22-bookworm-slim AS agents
LABEL org.opencontainers.image.source="https://github.com/deskhand/deskhand" org.opencontainers.image.licenses="Apache-2.0"
RUN apt-get update && \
	apt-get install -y --no-install-recommends bubblewrap ca-certificates git openssh-client && \
	rm -rf /var/lib/apt/lists/*
ARG AGENTS="@anthropic-ai/claude-code@2.1.197 @agentclientprotocol/claude-agent-acp@0.49.0 @openai/codex@0.169.0"
RUN npm install --global --no-audit --no-fund $AGENTS && npm cache clean --force
COPY --from=build /root-of-image/usr/bin/deskhand /usr/bin/deskhand
RUN install -d -o node -g node /var/lib/deskhand /docs
ENV DESKHAND_STATE=/var/lib/deskhand DESKHAND_INDEX=/var/lib/deskhand/index DESKHAND_TOOLS=docs,ask,work
USER node
VOLUME ["/var/lib/deskhand"]
EXPOSE 20310
HEALTHCHECK --interval=30s --timeout=6s --start-period=20s CMD ["/usr/bin/deskhand", "health"]
ENTRYPOINT ["/usr/bin/deskhand"]
CMD ["serve", "--watch", "/docs", "--http", "0.0.0.0:20310"]

FROM scratch AS server
LABEL org.opencontainers.image.source="https://github.com/deskhand/deskhand" org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /root-of-image/ /
ENV HOME=/var/lib/deskhand DESKHAND_STATE=/var/lib/deskhand DESKHAND_INDEX=/var/lib/deskhand/index
USER 65532:65532
WORKDIR /var/lib/deskhand
VOLUME ["/var/lib/deskhand"]
EXPOSE 20310
HEALTHCHECK --interval=30s --timeout=6s --start-period=20s CMD ["/usr/bin/deskhand", "health"]
ENTRYPOINT ["/usr/bin/deskhand"]
CMD ["serve", "--watch", "/docs", "--http", "0.0.0.0:20310"]
