(() => {
  const opened = () => [...document.querySelectorAll("details[open][id]")].map(each => each.id);
  const again = async () => {
    try {
      const version = await (await fetch("version", {cache: "no-store"})).text();
      if (version !== document.body.dataset.version) {
        const text = await (await fetch(location.pathname, {cache: "no-store"})).text();
        const page = new DOMParser().parseFromString(text, "text/html");
        const open = opened();
        document.querySelector("main").replaceWith(page.querySelector("main"));
        for (const id of open) document.getElementById(id)?.setAttribute("open", "");
        document.dispatchEvent(new Event("gravel:replaced"));
        document.body.dataset.version = page.body.dataset.version;
      }
    } catch (error) { /* the server has ended: keep what is shown */ }
    setTimeout(again, 1000);
  };
  setTimeout(again, 1000);
})();
