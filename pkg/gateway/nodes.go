package gateway

import (
	"bytes"
	"context"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// maxQuestions bounds the questions to other nodes that wait for an answer.
const maxQuestions = 256

// AskNode has another node answer a question (Options.Answer). It is asked once:
// who gets no answer asks again, or does without.
func (g *Gateway) AskNode(ctx context.Context, node kv.NodeID, question []byte) ([]byte, error) {
	if g.closed.Load() {
		return nil, errDraining
	}
	if node == g.opt.Machine.Node {
		return g.opt.Answer(question), nil
	}
	answer := make(chan []byte, 1)
	g.questionsMu.Lock()
	if len(g.questions) >= maxQuestions {
		g.questionsMu.Unlock()
		return nil, &kv.Error{Kind: kv.KindResourceExhausted, Op: -1, Text: "too many requests to other nodes are in flight", Hint: "retry after a short delay"}
	}
	g.asked++
	number := g.asked
	g.questions[number] = answer
	g.questionsMu.Unlock()
	defer func() {
		g.questionsMu.Lock()
		delete(g.questions, number)
		g.questionsMu.Unlock()
	}()
	env := msg.ToGateway(node)
	env.Body = &msg.Announcement{Call: &msg.NodeCall{Number: number, Asker: g.opt.Machine.Node, Body: question}}
	g.opt.Send([]*msg.Envelope{env})
	select {
	case a := <-answer:
		return a, nil
	case <-ctx.Done():
		e := asError(ctxError(ctx))
		if e.Kind == kv.KindDeadlineExceeded {
			e.Text, e.Hint = "node "+node.String()+" did not respond in time", "check whether the node is up"
		}
		return nil, e
	case <-g.stop:
		return nil, errDraining
	}
}

// onQuestion answers another node. A question must not keep the messages behind it
// waiting, and answers are few: each has a goroutine.
func (g *Gateway) onQuestion(q *msg.NodeCall) {
	g.questionsMu.Lock()
	defer g.questionsMu.Unlock()
	if g.opt.Answer == nil || g.closed.Load() || g.answering >= maxQuestions {
		return
	}
	g.answering++
	question := bytes.Clone(q.Body)
	env := msg.ToGateway(q.Asker)
	reply := &msg.NodeCall{Number: q.Number}
	env.Body = &msg.Announcement{Call: reply}
	g.answers.Go(func() {
		reply.Body = g.opt.Answer(question)
		g.opt.Send([]*msg.Envelope{env})
		g.questionsMu.Lock()
		g.answering--
		g.questionsMu.Unlock()
	})
}

// endAnswers waits for the answers that are being given. There are no more.
func (g *Gateway) endAnswers() {
	g.questionsMu.Lock()
	g.answering = maxQuestions // so that none is begun
	g.questionsMu.Unlock()
	g.answers.Wait()
}

// onAnswer passes an answer on, if it is still waited for.
func (g *Gateway) onAnswer(r *msg.NodeCall) {
	g.questionsMu.Lock()
	defer g.questionsMu.Unlock()
	if ch := g.questions[r.Number]; ch != nil {
		delete(g.questions, r.Number)
		ch <- bytes.Clone(r.Body)
	}
}
