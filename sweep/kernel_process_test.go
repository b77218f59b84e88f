package sweep_test

import (
	"slices"
	"strconv"
	"syscall"
	"time"

	"reaper/platform"
)

// process is one scripted process. The zero value of most fields means the usual:
// adopted by init, in a group and session of its own, ended by SIGTERM at once.
type process struct {
	pid, ppid, pgid, sid int
	uid                  int
	start                uint64
	argv                 []string
	env                  []string
	state                byte

	term, kill reaction // nil: exits at once
	death      reaction // runs once it has exited
	life       reaction // runs once it was born
	adopts     bool     // takes in the children of its descendants that exit
	neglects   bool     // does not wait for its children: they stay zombies
	stranger   bool     // no signal may reach it

	blank  bool // no environment to be read: within an exec
	ending bool // exit has begun: nothing to be read any more
	lost   bool // nothing but its pid can be read

	xnu      bool            // in macOS's table
	withheld bool            // its environment is not shown
	adopted  platform.Answer // whether launchd is known to have adopted it; the zero value: yes
	execed   uint64          // ticks at its last exec, 0 for none

	missed  bool // it was lost in the last survey
	gone    bool // waited for
	pending bool // SIGTERM came while it was stopped
	mother  *process
	led     *process // the process that led its group when it joined that
	born    time.Duration
	died    time.Duration
	held    int      // the pass before which a handle was opened
	seen    int      // the last pass that read it in detail
	legit   bool     // whether it belonged then
	bereft  bool     // has followed a dead process
	got     []string // signals that reached it
	stray   bool     // one reached it with its group, before it was known
}

// reaction is what a process does when a signal reaches it.
type reaction func(k *kernel, p *process)

func ignores(*kernel, *process) {}

func exits(after time.Duration) reaction {
	return func(k *kernel, p *process) { k.after(after, func() { k.exit(p) }) }
}

// frozen stays in uninterruptible sleep: no signal has an effect.
func frozen(_ *kernel, p *process) { p.state = 'D' }

// execs goes on as another program, which keeps the pid and the start.
func execs(env ...string) reaction {
	return func(k *kernel, p *process) {
		p.env, p.argv, p.term, p.execed = env, words("/bin/other"), ignores, k.Ticks()
	}
}

// forks has a child and goes on with the next reaction.
func forks(child process, next reaction) reaction {
	return func(k *kernel, p *process) {
		k.fork(p, child)
		next(k, p)
	}
}

// exitsNow is what a process without a handler does.
func exitsNow(k *kernel, p *process) { k.exit(p) }

// forksEvery has a child again and again for as long as it lives.
func forksEvery(d time.Duration, child process) reaction {
	return func(k *kernel, p *process) {
		var again func()
		again = func() {
			if !p.exited() {
				k.fork(p, child)
				k.after(d, again)
			}
		}
		k.after(d, again)
	}
}

// respawns lets an outside process start the same again.
func respawns(after time.Duration, again process) reaction {
	return func(k *kernel, _ *process) { k.after(after, func() { k.spawn(again) }) }
}

// startedBy lets a process have another child, if it still runs.
func startedBy(parent int, again process) reaction {
	return func(k *kernel, _ *process) {
		if p := k.running(parent); p != nil {
			k.fork(p, again)
		}
	}
}

// recycles gives the pid to a stranger at once, if it is free: as the number of a
// group or session that lasts it is not.
func recycles(k *kernel, p *process) {
	for _, q := range k.table {
		if q == p || q.pgid == p.pid || q.sid == p.pid {
			return
		}
	}
	k.spawn(process{pid: p.pid, argv: words("/bin/stranger"), stranger: true})
}

func (p *process) exited() bool { return p.state == 'Z' || p.gone }

// running returns the process that holds the pid and has not exited.
func (k *kernel) running(pid int) *process {
	if p := k.table[pid]; p != nil && !p.exited() {
		return p
	}
	return nil
}

// spawn puts a process into the table.
func (k *kernel) spawn(p process) *process {
	if p.pid == 0 {
		k.lastPID++
		p.pid = k.lastPID
	}
	if k.table[p.pid] != nil {
		panic("pid is taken")
	}
	if p.start == 0 && k.now() == 0 {
		p.start = uint64(1000 + len(k.past))
	}
	if p.start == 0 {
		p.start = k.Ticks()
	}
	p.ppid = or(p.ppid, 1)
	p.pgid = or(p.pgid, p.pid)
	p.sid = or(p.sid, p.pgid)
	p.uid = or(p.uid, me)
	p.state = or(p.state, 'S')
	p.born, p.xnu = k.now(), k.xnu
	if p.argv == nil {
		p.argv = words("/bin/worker")
	}
	if p.mother == nil && p.ppid > 1 {
		p.mother = k.table[p.ppid]
	}
	born := &p
	born.led = k.table[p.pgid]
	k.table[p.pid] = born
	k.past = append(k.past, born)
	if born.life != nil {
		born.life(k, born)
	}
	return born
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// fork gives a process a child, which inherits what the script does not say.
func (k *kernel) fork(p *process, child process) *process {
	child.ppid = or(child.ppid, p.pid)
	child.pgid = or(child.pgid, p.pgid)
	if child.pgid < 0 {
		child.pgid = 0 // a group of its own
	} else {
		child.sid = or(child.sid, p.sid)
	}
	child.uid = or(child.uid, p.uid)
	child.mother = p
	if child.env == nil {
		child.env = p.env
	}
	if child.argv == nil {
		child.argv = p.argv
	}
	born := k.spawn(child)
	if born.led == nil && born.pgid == p.pgid {
		born.led = p.led
	}
	return born
}

// exit ends a process: its children go to the adopter above it, and it is gone
// once its parent has waited for it.
func (k *kernel) exit(p *process) {
	if p.exited() {
		return
	}
	p.state, p.died = 'Z', k.now()
	for _, child := range k.sorted() {
		if child.ppid == p.pid && child != p {
			child.ppid = k.adopter(p)
			if child.state == 'Z' {
				k.reap(child)
			}
		}
	}
	k.reap(p)
	if p.death != nil {
		p.death(k, p)
	}
}

// adopter is the nearest one above.
func (k *kernel) adopter(p *process) int {
	for up := k.table[p.ppid]; up != nil; up = k.table[up.ppid] {
		if up.adopts && !up.exited() {
			return up.pid
		}
	}
	return 1
}

// reap takes a zombie out of the table if its parent waits for it.
func (k *kernel) reap(p *process) {
	if parent := k.table[p.ppid]; parent == nil || !parent.neglects {
		p.gone = true
		delete(k.table, p.pid)
	}
}

// deliver does what the signal does.
func (k *kernel) deliver(p *process, sig syscall.Signal) {
	react := p.term
	switch {
	case p.exited():
		return
	case sig == syscall.SIGCONT:
		if p.state != 'T' {
			return
		}
		p.state = 'S'
		if !p.pending {
			return
		}
	case sig == syscall.SIGKILL:
		react = p.kill
	case p.state == 'T':
		p.pending = true
		return
	}
	if react == nil {
		react = exitsNow
	}
	react(k, p)
}

// belongs says by family alone whether the process may be stopped now: it follows
// a process that is dead, or has kin that ever did, and nothing at or below it
// follows one that runs and is no kin. It knows nothing of how a sweep decides.
func (k *kernel) belongs(p *process) bool {
	f, ok := k.marker(p)
	alone := ok && k.running(f) == nil
	p.bereft = p.bereft || alone
	if p.uid != me || p.stranger || p.exited() || k.sheltered(p) {
		return false
	}
	if !alone && !k.kin(p.mother) && !k.kin(p.led) {
		return false
	}
	for _, q := range k.sorted() {
		if q.exited() || k.dark(q) || q.born > k.listed || !k.below(q, p) {
			continue // not to be seen, or not yet
		}
		if f := k.follows(q); f != nil && (f == q || !k.kin(f)) {
			return false
		}
	}
	return true
}

// dark says whether a reading shows nothing of what the process carries.
func (k *kernel) dark(p *process) bool {
	return p.blank || p.xnu && (p.withheld || p.uid != me) || p.lost || p.missed || p.ending || k.failing("inspect", p.pid) != nil
}

// sheltered says whether it is a protected program, or has its marker from one
// with nobody between them that was stamped anew.
func (k *kernel) sheltered(p *process) bool {
	for up := p; up != nil; up = k.table[up.ppid] {
		same := len(p.env) > 0 && slices.Equal(up.env, p.env)
		if k.dark(up) {
			return false // nor does a reading show what is above it
		}
		if up.argv[0] == "tmux" {
			return up == p || same && len(p.got) == 0 // it may have adopted a member since
		}
		if len(up.env) > 0 && !same {
			return false
		}
	}
	return false
}

// below says whether q is p or descends from it as the table stands, as far as a
// reading can show.
func (k *kernel) below(q, p *process) bool {
	for up := q; up != nil; up = k.table[up.ppid] {
		if up == p {
			return true
		}
		if up.lost || up.missed {
			return false
		}
	}
	return false
}

// kin says whether anyone in the line of birth, or who led a group on it, ever
// followed a dead process.
func (k *kernel) kin(p *process) bool {
	for up := p; up != nil; up = up.mother {
		if up.led != nil && k.kin(up.led) {
			return true
		}
		if f, ok := k.marker(up); ok && k.running(f) == nil {
			up.bereft = true
		}
		if up.bereft {
			return true
		}
	}
	return false
}

// follows returns the running process that the marker names.
func (k *kernel) follows(p *process) *process {
	f, ok := k.marker(p)
	if !ok {
		return nil
	}
	return k.running(f)
}

func (k *kernel) marker(p *process) (int, bool) {
	i := slices.IndexFunc(p.env, func(s string) bool { return len(s) > 5 && s[:5] == "MARK=" })
	if i < 0 {
		return 0, false
	}
	pid, err := strconv.Atoi(p.env[i][5:])
	return pid, err == nil
}
