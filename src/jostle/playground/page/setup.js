// The form that chooses task, agent, objects, variations, seed and speed.

const $ = (id) => document.getElementById(id);

function option(value, text, attributes = {}) {
  const element = document.createElement("option");
  element.value = value;
  element.textContent = text;
  Object.assign(element, attributes);
  return element;
}

export class SetupForm {
  constructor(send) {
    this.send = send;
    $("setup-form").onsubmit = (event) => { event.preventDefault(); this.apply(); };
    $("task").onchange = () => { $("objects").value = this.task().objects; this.apply(); };
    $("agent").onchange = () => this.apply();
    $("speed").onchange = () => send("speed", { value: Number($("speed").value) });
  }

  task() {
    return this.message.tasks.find((task) => task.name === $("task").value);
  }

  show(message) {
    this.message = message;
    const { setup } = message;
    $("task").replaceChildren(...message.tasks.map((task) => option(task.name, task.name, { title: task.summary })));
    $("task").value = setup.task;
    $("task").title = this.task()?.summary ?? "";
    this.showAgents(message.agents, setup.agent);
    $("objects").value = setup.objects;
    $("seed").value = setup.seed;
    $("vary").value = setup.vary;
    $("factors").replaceChildren(...message.factors.map((example) => option(example, "")));
    if (!$("speed").children.length) $("speed").replaceChildren(...message.speeds.map((speed) => option(speed, `${speed} ×`)));
  }

  showAgents(agents, chosen) {
    const groups = new Map();
    for (const agent of agents) {
      if (!groups.has(agent.group)) {
        const group = document.createElement("optgroup");
        group.label = agent.group;
        groups.set(agent.group, group);
      }
      const text = agent.reason ? `${agent.label}: ${agent.reason}` : agent.label;
      groups.get(agent.group).append(option(agent.name, text, { disabled: Boolean(agent.reason), title: agent.reason }));
    }
    $("agent").replaceChildren(...groups.values());
    if (!agents.some((agent) => agent.name === chosen)) $("agent").prepend(option(chosen, chosen));
    $("agent").value = chosen;
  }

  showSpeed(speed) {
    $("speed").value = speed;
  }

  apply() {
    const whole = (id) => ($(id).value === "" ? null : Math.round(Number($(id).value)));
    this.send("setup", {
      task: $("task").value, agent: $("agent").value, objects: whole("objects"),
      vary: $("vary").value.trim(), seed: whole("seed") ?? 0,
    });
  }

  addSaved({ name }) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = `files/${encodeURIComponent(name)}`;
    link.textContent = name;
    link.download = name;
    item.append(link);
    $("saved").prepend(item);
  }
}
