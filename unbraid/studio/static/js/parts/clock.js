// One clock for all players, so that sequences beside each other stay in step.

const players = new Set();
let running = false;
let playing = !matchMedia("(prefers-reduced-motion: reduce)").matches;
let passed = 0;
let last = 0;

const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) entry.target.isShown = entry.isIntersecting;
}, { rootMargin: "100px" });

function tick(now) {
  if (!players.size || !playing) {
    running = false;
    return;
  }
  passed += Math.min(100, now - last) / 1000;
  last = now;
  for (const [element, draw] of players) {
    if (!element.isConnected) leave(element);
    else if (element.isShown) draw(passed);
  }
  requestAnimationFrame(tick);
}

function wake() {
  if (running || !playing || !players.size) return;
  running = true;
  last = performance.now();
  requestAnimationFrame(tick);
}

function leave(element) {
  for (const pair of players) if (pair[0] === element) players.delete(pair);
  watcher.unobserve(element);
}

/** Call `draw(seconds)` again and again while an element is on the screen. */
export function join(element, draw) {
  players.add([element, draw]);
  watcher.observe(element);
  draw(passed);
  wake();
  return () => leave(element);
}

/** Whether sequences play. */
export const isPlaying = () => playing;

/** Play or pause everything. */
export function setPlaying(value) {
  playing = value;
  wake();
}
