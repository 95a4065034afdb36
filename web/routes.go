package web

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// routes names everything that is answered.
func (s *Server) routes() {
	get := func(path string, h echo.HandlerFunc) {
		s.echo.Match([]string{http.MethodGet, http.MethodHead}, path, h)
	}
	get("/", home)
	get("/conversations", s.list)
	get("/conversations/", home)
	get("/conversations/:id", s.conversation)
	get("/conversations/:id/", slash)
	get("/conversations/:id/parts", s.parts)
	get("/conversations/:id/events", s.readEvents)
	get("/conversations/:id/text/:entry", s.text)
	get("/conversations/:id/blob/:entry/:block", s.blob)
	get("/conversations/:id/live", s.liveConversation)
	get("/conversations/live", s.liveList)
	get("/live", s.liveMany)
	if s.notebook.desk != nil {
		s.reviewRoutes(get, func(path string, h echo.HandlerFunc) { s.echo.POST(path, h) })
	}
	if s.agents != nil {
		s.echo.Any(agentsPath, s.askAgents)
	}
	get("/static/:file", staticFile)
	get("/healthz", health)
	if s.token != nil {
		get(enterPath, s.enterPage)
		s.echo.POST(enterPath, s.enter)
	}
}
