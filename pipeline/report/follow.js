(() => {
  const again = async () => {
    try {
      const version = await (await fetch("version", {cache: "no-store"})).text();
      if (version !== document.body.dataset.version) {
        const text = await (await fetch(location.pathname, {cache: "no-store"})).text();
        const page = new DOMParser().parseFromString(text, "text/html");
        document.querySelector("main").replaceWith(page.querySelector("main"));
        document.body.dataset.version = page.body.dataset.version;
      }
    } catch (error) { /* the server has ended: keep what is shown */ }
    setTimeout(again, 1000);
  };
  setTimeout(again, 1000);
})();
