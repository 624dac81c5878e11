"use strict";
// Shows a scene that difmbs wrote: `root` is the element to fill, `packed` the scene as text.
async function difmbsView(root, packed) {
  const scene = await unpack(packed);
  const view = scene.view;
  const add = (parent, tag, name, text) => {
    const element = parent.appendChild(document.createElement(tag));
    if (name) element.className = name;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  root.replaceChildren();
  root.classList.add("difmbs-view");
  root.tabIndex = 0;
  const stage = add(root, "div", "stage");
  const canvas = add(stage, "canvas");
  const labels = add(stage, "div", "labels");
  const panel = add(stage, "div", "panel");
  const bar = add(root, "div", "bar");
  const play = add(bar, "button", "play", "▶");
  play.type = "button";
  play.title = "play or pause (space)";
  const slider = add(bar, "input", "time");
  Object.assign(slider, { type: "range", min: 0, step: 1, value: 0 });
  slider.setAttribute("aria-label", "time");
  const clock = add(bar, "span", "clock");
  const speed = add(bar, "select", "speed");
  speed.title = "speed";
  const choice = add(bar, "select", "choice");
  const switches = add(bar, "span", "switches");

  const gl = canvas.getContext("webgl2", { antialias: true, preserveDrawingBuffer: true });
  if (!gl) {
    add(stage, "p", "refused", "This browser cannot draw in three dimensions (WebGL 2 is missing or switched off).");
    return;
  }

  // Which runs are shown, and what of them.
  let chosen = 0;
  let time = scene.runs[0].times[0];
  let playing = false;
  const shown = { ground: true, bodies: true, connectors: true, loads: true, gravity: false, names: false, trails: true };
  const runs = () => (scene.together ? scene.runs : [scene.runs[chosen]]);
  const ends = () => {
    const all = runs().map((run) => run.times);
    return [Math.min(...all.map((t) => t[0])), Math.max(...all.map((t) => t[t.length - 1]))];
  };
  const longest = () => runs().reduce((a, b) => (b.times.length > a.times.length ? b : a));

  // Between which frames of a run a time is, and how far.
  function at(run, t) {
    const times = run.times;
    let low = 0, high = times.length - 1;
    if (t <= times[0] || high === 0) return [0, 0, 0];
    if (t >= times[high]) return [high, high, 0];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (times[middle] <= t) low = middle; else high = middle;
    }
    return [low, high, (t - times[low]) / (times[high] - times[low] || 1)];
  }

  // Origins and rotation matrices of all bodies of a run.
  function poses(run, t) {
    const [k, l, w] = at(run, t);
    const origins = Float64Array.from(run.still), turns = new Float64Array(9 * (origins.length / 3));
    run.moving.forEach((frame, i) => {
      for (let c = 0; c < 3; c++) {
        const a = run.origins[(k * run.moving.length + i) * 3 + c], b = run.origins[(l * run.moving.length + i) * 3 + c];
        origins[3 * frame + c] = a + w * (b - a);
      }
    });
    for (let f = 0; f < origins.length / 3; f++) turns.set(rotation(run.held.slice(4 * f, 4 * f + 4)), 9 * f);
    run.turning.forEach((frame, i) => {
      const first = (k * run.turning.length + i) * 4, second = (l * run.turning.length + i) * 4, q = [0, 0, 0, 0];
      for (let c = 0; c < 4; c++) q[c] = (1 - w) * run.turns[first + c] + w * run.turns[second + c];
      turns.set(rotation(q), 9 * frame);
    });
    return { origins, turns, k, l, w };
  }

  function rotation([x, y, z, w]) {
    const s = 2 / (x * x + y * y + z * z + w * w);
    return [
      1 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w),
      s * (x * y + z * w), 1 - s * (x * x + z * z), s * (y * z - x * w),
      s * (x * z - y * w), s * (y * z + x * w), 1 - s * (x * x + y * y),
    ];
  }

  const turned = (R, f, x) => [0, 3, 6].map((i) => R[9 * f + i] * x[0] + R[9 * f + i + 1] * x[1] + R[9 * f + i + 2] * x[2]);
  const point = (pose, f, x) => turned(pose.turns, f, x).map((c, i) => c + pose.origins[3 * f + i]);
  const sum = (a, b, s = 1) => a.map((x, i) => x + s * b[i]);
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const times = (a, s) => a.map((x) => x * s);
  const size = (a) => Math.hypot(...a);
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const unit = (a) => times(a, 1 / (size(a) || 1));

  // As `directed` in parts.py.
  function directed(along, radius, front, ofLengthOne) {
    const length = size(along);
    if (length === 0) return [0, 0, 0, 0, 0, 0, 0, 0, 0];
    const x = times(along, 1 / length);
    let across = cross(front, x);
    if (size(across) < 1e-6) across = cross(Math.abs(x[1]) < 0.9 ? [0, 1, 0] : [1, 0, 0], x);
    const y = unit(across);
    return [...(ofLengthOne ? x : along), ...times(y, radius), ...times(cross(x, y), radius)];
  }

  // The columns of A, and p: a point x of the part's mesh is at A x + p.
  function placed(run, pose, part) {
    const begin = point(pose, part.frame, part.at);
    if (part.vector !== undefined) {
      const first = (pose.k * run.arrows + part.vector) * 3, second = (pose.l * run.arrows + part.vector) * 3;
      const v = [0, 1, 2].map((c) => (1 - pose.w) * run.vectors[first + c] + pose.w * run.vectors[second + c]);
      if (scene.meshes[part.mesh].name === "curl") {
        const axes = directed(v, 1, view.front, true);
        return [times(axes, Math.sqrt(size(v)) * part.size), begin];
      }
      return [directed(times(v, scene.arrow), part.size, view.front), begin];
    }
    if (part.to !== undefined) {
      return [directed(sum(point(pose, part.to, part.reach), begin, -1), part.size, view.front), begin];
    }
    const columns = [0, 1, 2].map((c) => turned(pose.turns, part.frame, [part.axes[c], part.axes[3 + c], part.axes[6 + c]]));
    return [columns.flat(), begin];
  }

  // Drawing
  const compile = (kind, source) => {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, `#version 300 es\nprecision highp float;\n${source}`);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
    return shader;
  };
  const link = (vertex, fragment) => {
    const program = gl.createProgram();
    gl.attachShader(program, compile(gl.VERTEX_SHADER, vertex));
    gl.attachShader(program, compile(gl.FRAGMENT_SHADER, fragment));
    gl.linkProgram(program);
    return program;
  };
  const solid = link(
    `layout(location=0) in vec3 point; layout(location=1) in vec3 normal; layout(location=2) in vec3 ax;
     layout(location=3) in vec3 ay; layout(location=4) in vec3 az; layout(location=5) in vec3 at;
     layout(location=6) in vec4 tint; uniform mat4 camera; uniform vec3 middle; out vec3 n; out vec4 color;
     float part(vec3 a, float x) { float s = dot(a, a); return s > 0.0 ? x / s : 0.0; }
     void main() {
       vec3 world = ax * point.x + ay * point.y + az * point.z + (at - middle);
       n = ax * part(ax, normal.x) + ay * part(ay, normal.y) + az * part(az, normal.z);
       color = tint; gl_Position = camera * vec4(world, 1.0);
     }`,
    `in vec3 n; in vec4 color; uniform vec3 front; uniform vec3 light; out vec4 shade;
     void main() {
       vec3 m = normalize(n); if (dot(m, front) < 0.0) m = -m;
       float s = 0.5 + 0.35 * max(dot(m, light), 0.0) + 0.2 * max(dot(m, front), 0.0);
       shade = vec4(color.rgb * s * color.a, color.a);
     }`);
  const thin = link(
    `layout(location=0) in vec3 point; uniform mat4 camera; uniform vec3 middle;
     void main() { gl_Position = camera * vec4(point - middle, 1.0); }`,
    "uniform vec4 color; out vec4 shade; void main() { shade = vec4(color.rgb * color.a, color.a); }");
  const where = (program, name) => gl.getUniformLocation(program, name);

  const solids = scene.meshes.map((mesh) => {
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    [mesh.points, mesh.normals].forEach((values, location) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
      gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(location);
      gl.vertexAttribPointer(location, 3, gl.FLOAT, false, 0, 0);
    });
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, mesh.triangles, gl.STATIC_DRAW);
    const buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    [3, 3, 3, 3, 4].forEach((count, i) => {
      gl.enableVertexAttribArray(2 + i);
      gl.vertexAttribPointer(2 + i, count, gl.FLOAT, false, 64, 12 * i);
      gl.vertexAttribDivisor(2 + i, 1);
    });
    return { array, buffer, count: mesh.triangles.length };
  });
  const strip = gl.createVertexArray(), points = gl.createBuffer();
  gl.bindVertexArray(strip);
  gl.bindBuffer(gl.ARRAY_BUFFER, points);
  gl.enableVertexAttribArray(0);
  gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
  gl.bindVertexArray(null);

  const horizontal = unit(cross(view.upright, view.right)), beside = cross(horizontal, view.upright);
  const home = () => ({
    center: view.center.slice(),
    azimuth: Math.atan2(dot(view.front, horizontal), dot(view.front, beside)),
    elevation: Math.asin(Math.max(-1, Math.min(1, dot(view.front, view.upright)))),
    half: undefined,
  });
  let camera = home();

  function basis() {
    const { azimuth: a, elevation: e } = camera;
    const level = sum(times(beside, Math.cos(a)), horizontal, Math.sin(a));
    const front = sum(times(level, Math.cos(e)), view.upright, Math.sin(e));
    const right = unit(sum(times(horizontal, Math.cos(a)), beside, -Math.sin(a)));
    // Looked at straight on, as the plane is.
    const sign = Math.sign(dot(cross(cross(front, right), front), right)) || 1;
    return { front, right: times(right, sign), up: cross(front, times(right, sign)) };
  }

  function fitted() {
    const ratio = canvas.width / canvas.height || 1;
    const room = 1.15;
    return Math.max(view.height, view.width / ratio, 0.05 * view.size) * 0.5 * room + 2.5 * view.unit;
  }

  function draw() {
    const wide = Math.round(stage.clientWidth * devicePixelRatio), high = Math.round(stage.clientHeight * devicePixelRatio);
    if (!wide || !high) return;
    if (canvas.width !== wide || canvas.height !== high) Object.assign(canvas, { width: wide, height: high });
    const half = camera.half === undefined ? fitted() : camera.half, ratio = wide / high;
    const axes = basis(), { front, right, up } = axes;
    const flat = view.plane, far = 3.8 * half, near = 0.05 * half, deep = 40 * Math.max(half, view.size);
    // Rows of the projection of (x right, y up, z towards the eye).
    const rows = flat
      ? [[1 / (half * ratio), 0, 0, 0], [0, 1 / half, 0, 0], [0, 0, -1 / deep, 0], [0, 0, 0, 1]]
      : [[3.8 / ratio, 0, 0, 0], [0, 3.8, 0, 0],
         [0, 0, -(deep + near) / (deep - near), ((deep + near) * far) / (deep - near) - (2 * deep * near) / (deep - near)],
         [0, 0, -1, far]];
    const matrix = new Float32Array(16);
    rows.forEach((row, i) => [0, 1, 2].forEach((c) => {
      matrix[4 * c + i] = row[0] * right[c] + row[1] * up[c] + row[2] * front[c];
    }));
    rows.forEach((row, i) => { matrix[12 + i] = row[3]; });
    gl.viewport(0, 0, wide, high);
    gl.clearColor(1, 1, 1, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.useProgram(thin);
    gl.uniformMatrix4fv(where(thin, "camera"), false, matrix);
    gl.uniform3fv(where(thin, "middle"), camera.center);
    if (!flat) lines(grid(), [0.83, 0.86, 0.88, 1], gl.LINES);
    const now = runs().map((run) => [run, poses(run, time)]);
    if (shown.trails) {
      now.forEach(([run, pose]) => run.trails.forEach((trail, i) => {
        const color = [[0.76, 0.18, 0.36], [0.1, 0.45, 0.65], [0.2, 0.55, 0.25], [0.6, 0.4, 0.1]][i % 4];
        lines(path(run, trail).subarray(0, 3 * (pose.k + 1)), [...color, run.alpha], gl.LINE_STRIP);
      }));
    }
    const instances = solids.map(() => [[], []]);
    now.forEach(([run, pose]) => run.parts.forEach((part, i) => {
      if (!shown[part.layer]) return;
      let [A, p] = placed(run, pose, part);
      // In the plane what is small is before what is large.
      if (flat && run.heights.length) p = sum(p, front, 2.5 * view.unit * run.heights[i]);
      const color = part.scale === undefined ? part.color : scaled(run.scales[pose.k * run.scaled + part.scale]);
      instances[part.mesh][run.alpha < 1 ? 1 : 0].push(...A, ...p, ...color, run.alpha);
    }));
    gl.useProgram(solid);
    gl.uniformMatrix4fv(where(solid, "camera"), false, matrix);
    gl.uniform3fv(where(solid, "middle"), camera.center);
    gl.uniform3fv(where(solid, "front"), front);
    gl.uniform3fv(where(solid, "light"), unit(sum(sum(times(right, -0.35), up, 0.75), front, 0.6)));
    for (const pass of [0, 1]) {
      gl.depthMask(pass === 0);
      solids.forEach((mesh, i) => {
        const values = instances[i][pass];
        if (!values.length) return;
        gl.bindVertexArray(mesh.array);
        gl.bindBuffer(gl.ARRAY_BUFFER, mesh.buffer);
        gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(values), gl.DYNAMIC_DRAW);
        gl.drawElementsInstanced(gl.TRIANGLES, mesh.count, gl.UNSIGNED_INT, 0, values.length / 16);
      });
    }
    gl.depthMask(true);
    gl.bindVertexArray(null);
    write(now, matrix, wide, high);
    const metres = nice((2 * half * ratio) / 6);
    ruler.style.width = `${(metres / (2 * half * ratio)) * stage.clientWidth}px`;
    rulerText.textContent = `${metres} m`;
  }

  function lines(values, color, kind) {
    gl.bindVertexArray(strip);
    gl.bindBuffer(gl.ARRAY_BUFFER, points);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
    gl.uniform4fv(where(thin, "color"), color);
    gl.drawArrays(kind, 0, values.length / 3);
  }

  const nice = (x) => {
    const power = 10 ** Math.floor(Math.log10(x || 1));
    const first = [5, 2, 1].find((n) => n * power <= x) || 1;
    return Number((first * power).toPrecision(1));
  };

  let known;
  function grid() {
    if (known) return known;
    const apart = nice(view.size / 8), count = Math.ceil(view.size / apart), all = [];
    const middle = sum(view.center, view.upright, view.floor - dot(view.center, view.upright));
    for (let i = -count; i <= count; i++) {
      for (const [a, b] of [[beside, horizontal], [horizontal, beside]]) {
        all.push(...sum(sum(middle, a, i * apart), b, -count * apart), ...sum(sum(middle, a, i * apart), b, count * apart));
      }
    }
    return (known = new Float32Array(all));
  }

  const paths = new Map();
  function path(run, trail) {
    if (!paths.has(trail)) {
      const all = Array.from(run.times, (t) => point(poses(run, t), trail.frame, trail.at)).flat();
      paths.set(trail, new Float32Array(all));
    }
    return paths.get(trail);
  }

  // Colours from small to large.
  const stops = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
  const scaled = (x) => {
    const s = (x / 255) * 4, i = Math.min(3, Math.floor(s));
    return stops[i].map((c, k) => (c + (s - i) * (stops[i + 1][k] - c)) / 255);
  };

  // Words
  const number = (x) => (Number.isFinite(x) ? Number(x.toPrecision(5)).toString() : "–");
  const ruler = add(stage, "div", "ruler"), rulerText = add(ruler, "span");
  const table = add(panel, "table", "values");
  if (scene.title) panel.prepend(Object.assign(document.createElement("div"), { className: "title", textContent: scene.title }));
  if (scene.together && scene.runs.length > 1) {
    const list = add(panel, "div", "runs");
    scene.runs.forEach((run) => {
      const line = add(list, "div");
      const mark = add(line, "i");
      mark.style.opacity = run.alpha;
      add(line, "span", "", run.label);
    });
  }
  if (scene.legend) {
    const box = add(panel, "div", "legend");
    add(box, "div", "", scene.legend.label);
    add(box, "div", "colors").style.background = `linear-gradient(to right, ${stops.map((c) => `rgb(${c})`)})`;
    const two = add(box, "div", "two");
    add(two, "span", "", number(scene.legend.low));
    add(two, "span", "", number(scene.legend.high));
  }
  function cells() {
    table.replaceChildren();
    return runs().map((run) => run.values.names.map((name) => {
      const row = add(table, "tr");
      add(row, "th", "", scene.together && scene.runs.length > 1 ? `${name} (${run.label})` : name);
      return add(row, "td");
    }));
  }
  let fields = cells();

  const pool = [];
  function write(now, matrix, wide, high) {
    now.forEach(([run, pose], i) => fields[i].forEach((cell, j) => {
      const row = (k) => run.values.data[k * run.values.names.length + j];
      cell.textContent = number((1 - pose.w) * row(pose.k) + pose.w * row(pose.l));
    }));
    const wanted = [];
    if (shown.names) {
      const [run, pose] = now[0], seen = new Set();
      for (const part of run.parts) {
        if (part.layer === "ground" || seen.has(part.name) || !shown[part.layer] || part.layer === "gravity") continue;
        seen.add(part.name);
        if (/\[([1-9]\d+|[8-9])\]$/.test(part.name)) continue;
        const begin = point(pose, part.frame, part.middle || part.at);
        wanted.push([part.name, part.to === undefined ? begin : times(sum(begin, point(pose, part.to, part.reach)), 0.5)]);
        if (wanted.length === 200) break;
      }
      for (const { name, frame, at } of run.points) wanted.push([name, point(pose, frame, at)]);
    }
    const taken = [];
    while (pool.length < wanted.length) pool.push(add(labels, "span"));
    pool.forEach((label, i) => {
      label.hidden = i >= wanted.length;
      if (label.hidden) return;
      const [text, place] = wanted[i], r = sum(place, camera.center, -1);
      const clip = [0, 1, 3].map((c) => matrix[c] * r[0] + matrix[4 + c] * r[1] + matrix[8 + c] * r[2] + matrix[12 + c]);
      label.textContent = text;
      const x = ((clip[0] / clip[2] + 1) / 2) * (wide / devicePixelRatio), y = ((1 - clip[1] / clip[2]) / 2) * (high / devicePixelRatio);
      // Under each other where they would overlap.
      const box = { x: x + 6, y: y - 14, w: 6.5 * text.length + 4 };
      for (let tries = 0; tries < 8; tries++) {
        const other = taken.find((o) => Math.abs(o.y - box.y) < 13 && box.x < o.x + o.w && o.x < box.x + box.w);
        if (!other) break;
        box.y = other.y + 14;
      }
      taken.push(box);
      label.style.transform = `translate(${box.x}px, ${box.y}px)`;
    });
    clock.textContent = `${number(time)} ${scene.unit}`;
  }

  // What the user does
  let waiting = false;
  const redraw = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  };
  const still = longest().times.length < 2;
  const rates = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100];
  const [begin, end] = ends();
  const wish = (end - begin) / 6;
  while (rates[rates.length - 1] < wish) rates.push(rates[rates.length - 1] * 10);
  const usual = end - begin >= 2 && end - begin <= 20 ? 1 : rates.reduce((a, b) => (Math.abs(Math.log(b / wish)) < Math.abs(Math.log(a / wish)) ? b : a));
  rates.forEach((rate) => {
    const option = add(speed, "option", "", `${number(rate)}×`);
    option.value = rate;
    option.selected = rate === usual;
  });
  function prepare() {
    slider.max = longest().times.length - 1;
    fields = cells();
    time = ends()[0];
    slider.value = 0;
    redraw();
  }
  slider.addEventListener("input", () => { playing = false; marks(); time = longest().times[slider.value]; redraw(); });
  const marks = () => { play.textContent = playing ? "❚❚" : "▶"; };
  let last = 0;
  function toggle() {
    playing = !playing && !still;
    marks();
    if (!playing) return;
    if (time >= ends()[1]) time = ends()[0];
    last = performance.now();
    requestAnimationFrame(go);
  }
  function go(now) {
    if (!playing) return;
    time += ((now - last) / 1000) * Number(speed.value);
    last = now;
    const [first, final] = ends();
    if (time > final) time = scene.loop ? first + ((time - first) % (final - first)) : final;
    slider.value = at(longest(), time)[0];
    draw();
    if (time >= final && !scene.loop) { playing = false; marks(); } else requestAnimationFrame(go);
  }
  play.addEventListener("click", toggle);
  root.addEventListener("keydown", (event) => {
    if (event.target !== root) return;
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.key === " ") toggle();
    else if (step) {
      slider.value = Number(slider.value) + step;
      slider.dispatchEvent(new Event("input"));
    } else return;
    event.preventDefault();
  });
  if (scene.together || scene.runs.length < 2) choice.remove();
  scene.runs.forEach((run, i) => { add(choice, "option", "", run.label).value = i; });
  choice.addEventListener("change", () => { chosen = Number(choice.value); prepare(); });
  const present = new Set(scene.runs.flatMap((run) => run.parts.map((part) => part.layer)));
  if (scene.runs.some((run) => run.trails.length)) present.add("trails");
  present.add("names");
  ["names", "connectors", "loads", "gravity", "trails"].filter((layer) => present.has(layer)).forEach((layer) => {
    const label = add(switches, "label");
    const box = add(label, "input");
    Object.assign(box, { type: "checkbox", checked: shown[layer] });
    box.name = layer;
    label.append(layer);
    box.addEventListener("change", () => { shown[layer] = box.checked; redraw(); });
  });
  if (still) bar.classList.add("still");

  const pointers = new Map();
  canvas.addEventListener("pointerdown", (event) => {
    pointers.set(event.pointerId, event);
    canvas.setPointerCapture(event.pointerId);
  });
  const release = (event) => pointers.delete(event.pointerId);
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    const dx = event.clientX - before.clientX, dy = event.clientY - before.clientY;
    const other = [...pointers.values()].find((p) => p.pointerId !== event.pointerId);
    const half = camera.half === undefined ? fitted() : camera.half;
    if (other) {
      const apart = (p) => Math.hypot(p.clientX - other.clientX, p.clientY - other.clientY);
      camera.half = (half * apart(before)) / (apart(event) || 1);
    } else if (view.plane !== (event.shiftKey || event.buttons === 2)) {
      const { right, up } = basis(), scale = (2 * half) / stage.clientHeight;
      camera.center = sum(sum(camera.center, right, -dx * scale), up, dy * scale);
    } else {
      camera.azimuth -= dx * 0.008;
      camera.elevation = Math.max(-1.57, Math.min(1.57, camera.elevation + dy * 0.008));
    }
    pointers.set(event.pointerId, event);
    redraw();
  });
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    camera.half = (camera.half === undefined ? fitted() : camera.half) * Math.exp(event.deltaY * 0.0012);
    redraw();
  }, { passive: false });
  canvas.addEventListener("dblclick", () => { camera = home(); redraw(); });
  // At once: until then the old picture is stretched.
  new ResizeObserver(draw).observe(stage);

  // For those who want to look at numbers.
  root.viewer = {
    scene,
    frames: () => longest().times.length,
    placed: (t, run = 0) => {
      const pose = poses(scene.runs[run], t);
      return scene.runs[run].parts.map((part) => placed(scene.runs[run], pose, part).flat());
    },
    get time() { return time; },
    get camera() { return camera; },
  };
  prepare();
  draw();

  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const buffer = await new Response(stream).arrayBuffer();
    const length = new DataView(buffer).getUint32(0, true);
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
    const base = 4 + length;
    const plain = { f4: Float32Array, f8: Float64Array, u4: Uint32Array, u1: Uint8Array };
    const read = (x) => {
      if (Array.isArray(x)) return x.map(read);
      if (x === null || typeof x !== "object") return x;
      if (!("dtype" in x)) return Object.fromEntries(Object.entries(x).map(([key, value]) => [key, read(value)]));
      const count = x.shape.reduce((a, b) => a * b, 1);
      if (x.dtype !== "fixed") {
        const Kind = plain[x.dtype], begin = base + x.offset;
        return new Kind(buffer.slice(begin, begin + count * Kind.BYTES_PER_ELEMENT));
      }
      // Whole numbers as differences from row to row, byte by byte.
      const planes = new Uint8Array(buffer, base + x.offset, 4 * count), columns = count / x.shape[0] || 0;
      const whole = new Int32Array(count), values = new Float64Array(count);
      for (let i = 0; i < count; i++) {
        const change = planes[i] | (planes[count + i] << 8) | (planes[2 * count + i] << 16) | (planes[3 * count + i] << 24);
        whole[i] = change + (i >= columns ? whole[i - columns] : 0);
        values[i] = x.low + x.step * whole[i];
      }
      return values;
    };
    return read(header);
  }
}
