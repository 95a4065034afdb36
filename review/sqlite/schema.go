package sqlite

// applicationID marks the file as ours: "swrv".
const applicationID = 0x73777276

// migrations take a file from each version to the next: the first one makes it. One that was released is
// never changed. The version is the number of those that were applied (PRAGMA user_version).
//
// Times are milliseconds since 1970, NULL where there is none. seq is the order in which things came,
// whatever the clock said.
func migrations() []string {
	return []string{`
CREATE TABLE principals (
	seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, agent INTEGER NOT NULL, name TEXT NOT NULL, created INTEGER
) STRICT;
INSERT INTO principals (id, agent, name) VALUES ('person', 0, 'person');

CREATE TABLE agents (
	seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
	principal TEXT NOT NULL UNIQUE REFERENCES principals (id),
	name TEXT NOT NULL, evidence TEXT NOT NULL, seen INTEGER, created INTEGER NOT NULL, revoked INTEGER
) STRICT;

CREATE TABLE tokens (
	seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
	principal TEXT NOT NULL REFERENCES principals (id),
	label TEXT NOT NULL, results TEXT NOT NULL, hash BLOB NOT NULL UNIQUE,
	created INTEGER NOT NULL, used INTEGER, revoked INTEGER
) STRICT;

CREATE TABLE projects (
	seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
	workspace TEXT NOT NULL UNIQUE, name TEXT NOT NULL, created INTEGER NOT NULL
) STRICT;

CREATE TABLE dispatches (
	seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
	project TEXT NOT NULL REFERENCES projects (id),
	agent TEXT NOT NULL REFERENCES agents (id),
	note TEXT NOT NULL,
	state TEXT NOT NULL CHECK (state IN ('queued', 'claimed', 'delivered', 'addressed', 'failed', 'canceled')),
	due INTEGER, lease INTEGER, claims INTEGER NOT NULL, sent INTEGER NOT NULL,
	claimed INTEGER, delivered INTEGER, ended INTEGER, reason TEXT NOT NULL, size INTEGER NOT NULL
) STRICT;
CREATE INDEX queues ON dispatches (agent, project, due, sent) WHERE state = 'queued';
CREATE UNIQUE INDEX one_active ON dispatches (agent) WHERE state IN ('claimed', 'delivered');

CREATE TABLE threads (
	seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
	project TEXT NOT NULL REFERENCES projects (id),
	conversation TEXT NOT NULL, event INTEGER NOT NULL, hash INTEGER NOT NULL, quote TEXT NOT NULL, nth INTEGER NOT NULL,
	vanished INTEGER NOT NULL, body TEXT NOT NULL,
	author TEXT NOT NULL REFERENCES principals (id),
	resolved INTEGER NOT NULL,
	dispatch TEXT REFERENCES dispatches (id),
	key TEXT, created INTEGER NOT NULL, updated INTEGER NOT NULL,
	UNIQUE (author, key)
) STRICT;
CREATE INDEX threads_places ON threads (project, conversation, event);
CREATE INDEX threads_drafts ON threads (project) WHERE dispatch IS NULL AND resolved = 0;
CREATE INDEX threads_dispatches ON threads (dispatch, resolved) WHERE dispatch IS NOT NULL;

-- What a bundle was sent with, which never changes but by deleting a thread.
CREATE TABLE members (
	dispatch TEXT NOT NULL REFERENCES dispatches (id),
	position INTEGER NOT NULL,
	thread TEXT NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
	PRIMARY KEY (dispatch, position)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX members_threads ON members (thread, dispatch, position);

CREATE TABLE replies (
	seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
	thread TEXT NOT NULL REFERENCES threads (id) ON DELETE CASCADE,
	author TEXT NOT NULL REFERENCES principals (id),
	body TEXT NOT NULL, key TEXT, created INTEGER NOT NULL,
	UNIQUE (author, key)
) STRICT;
CREATE INDEX replies_threads ON replies (thread);

CREATE TABLE messages (
	seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
	agent TEXT NOT NULL REFERENCES agents (id),
	project TEXT NOT NULL, conversation TEXT NOT NULL,
	text TEXT NOT NULL, created INTEGER NOT NULL, read INTEGER
) STRICT;
CREATE INDEX messages_agents ON messages (agent, created);
CREATE INDEX messages_places ON messages (project, conversation);
CREATE INDEX messages_unread ON messages (seq) WHERE read IS NULL;
`}
}
